import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { lockSqlite } from '../../server/platform/db/location/files.ts'
import { moveLockPath, moveMarkerPath, unfinishedTable } from '../../server/platform/db/location/moved.ts'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { clockOf } from '../../server/operations/checks/doctor/machine.ts'
import { version } from '../../server/platform/config/version.ts'
import { type TestApp, testApp } from '../app.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { publish } from '../support/publish.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'
import { freePort } from '../support/free-port.ts'

type Report = { code: number; ok: boolean; checks: Check[]; settings: string[] | null; find: (name: string) => Check | undefined }

/** Runs the doctor with these settings and returns its report. */
async function runDoctor(environment: Record<string, string>, ...words: string[]): Promise<Report> {
  const { code, out, err } = await runCommand(environment, 'doctor', ...words, '--json')
  expect(err).toBe('')
  for (const secret of [environment.JWT_SECRET, environment.POSTGRES_URL].filter(Boolean)) expect(out).not.toContain(secret)
  const report = JSON.parse(out)
  return { code, ...report, find: (wanted) => report.checks.find(({ name }: Check) => name === wanted) }
}

/** Returns the settings of a server at `url`, with a port on which nothing listens. */
const environmentAt = async (app: TestApp, url: string, more = {}) => ({
  ...environmentOf(app),
  SERVER_URL: url,
  LISTEN_PORT: String(await freePort()),
  ...more,
})

/** Starts a server with the given handler and returns its address. */
async function startServer(answer: RequestListener): Promise<string> {
  const port = await freePort()
  const server = createServer(answer).listen(port, '127.0.0.1')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${port}`
}

const contents = async ({ services }: TestApp) => {
  const count = (table: string) => services.database.reads.get<{ n: number }>(`select count(*) as n from ${table}`)
  const blobs: unknown[] = []
  for await (const blob of services.blobs.list()) blobs.push(blob)
  return [blobs, await count('audit_entries'), await count('packages'), await count('jobs'), await count('server_settings')]
}

it('finds no problem in a running server and changes nothing', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const environment = await environmentAt(app, await app.listen())
  const before = await contents(app)
  const { code, ok, checks, settings, find } = await runDoctor(environment)
  expect([code, ok, checks.filter(({ status }) => status === 'failed')]).toEqual([0, true, []])
  expect(await contents(app)).toEqual(before)
  expect(find('address')).toMatchObject({ status: 'ok', message: expect.stringContaining('and is ready') })
  expect(find('database')?.message).toMatch(app.config.DB_BACKEND === 'sqlite' ? /responds: SQLite 3\./ : /responds: PostgreSQL \d/)
  for (const name of ['configuration', 'migrations', 'store', 'store identity', 'archives', 'clocks', 'space', 'proxy', 'sandbox'])
    expect([name, find(name)?.status]).toEqual([name, 'ok'])
  expect(find('versions')?.message).toContain(`the running server is Snug ${version}`)
  expect(find('integrity')?.status).toBe(app.config.DB_BACKEND === 'sqlite' ? 'ok' : undefined)
  expect(settings).toContain('JWT_SECRET=********')
  const { out } = await runCommand(environment, 'doctor', '--quick', '--settings')
  expect(out).toMatch(/^SERVER_URL=.*\nJWT_SECRET=\*{8}\n/)
  expect(out).toMatch(/\nok {7}database {8}The database .*\n(.*\n)*\d+ checks: 0 failed, \d+ warnings?\.$/)
  expect(out).not.toContain('integrity')
})

it('warns of a server that is not running and of one that is not ready', async () => {
  await using app = await testApp()
  const gone = await runDoctor(await environmentAt(app, `http://localhost:${await freePort()}`))
  expect([gone.code, gone.find('address')]).toMatchObject([0, { status: 'warning', message: expect.stringContaining('No response from') }])
  const url = await app.listen()
  app.services.stopping.abort()
  const stopping = await runDoctor(await environmentAt(app, url))
  expect([stopping.code, stopping.find('address')]).toMatchObject([1, { message: expect.stringContaining('not ready: running') }])
})

it('names every invalid setting without its value', async () => {
  await using app = await testApp()
  const { code, checks, settings } = await runDoctor({ ...environmentOf(app), JWT_SECRET: 'short', LISTEN_PORT: 'many' })
  expect([code, settings, checks.filter(({ status }) => status === 'failed').map(({ message }) => message.split(':')[0])]).toEqual([
    1,
    null,
    ['JWT_SECRET', 'LISTEN_PORT'],
  ])
})

it('warns of misspelled variables', async () => {
  await using app = await testApp()
  const { code, checks } = await runDoctor({ ...environmentOf(app), SEVER_URL: 'x' }, '--quick')
  const message = 'SEVER_URL is not a setting and is ignored. Did you mean SERVER_URL?'
  expect([code, checks]).toEqual([0, expect.arrayContaining([{ name: 'configuration', status: 'warning', message }])])
})

it('warns of insecure settings without revealing secrets', async () => {
  await using app = await testApp()
  const { code, settings, checks } = await runDoctor({ ...environmentOf(app), JWT_SECRET: 'ab'.repeat(16) }, '--quick')
  const warnings = checks.filter(({ name, status }) => name === 'configuration' && status === 'warning').map(({ message }) => message)
  const weak = [/^JWT_SECRET is easy to guess /, /^BCRYPT_COST is 4: /].map((text) => expect.stringMatching(text))
  expect([code, settings, warnings]).toEqual([0, expect.arrayContaining(['JWT_SECRET=********']), weak])
})

it('distinguishes missing migrations from migrations of a newer version', async () => {
  await using app = await testApp()
  const change = (sql: string) => app.services.database.orm.em.getConnection().execute(sql)
  const [last = { name: '' }] = await change('select name from schema_migrations order by name desc limit 1')
  await change(`delete from schema_migrations where name = '${last.name}'`)
  const older = await runDoctor(environmentOf(app))
  expect([older.code, older.find('migrations')]).toMatchObject([0, { status: 'warning', message: expect.stringContaining('lacks 1') }])
  await change(`insert into schema_migrations (name) values ('${last.name}'), ('Migration29990101000001_later')`)
  const compatible = await runDoctor(environmentOf(app))
  if (app.config.DB_BACKEND === 'postgres')
    expect([compatible.code, compatible.find('migrations')]).toMatchObject([
      0,
      { status: 'warning', message: expect.stringContaining('This version is compatible with it.') },
    ])
  await change(`update server_settings set value = '"99.0.0"' where key = 'schema.oldest_version'`)
  const newer = await runDoctor(environmentOf(app))
  expect([newer.code, newer.find('migrations')?.message]).toEqual([
    1,
    expect.stringMatching(/by Snug .* has migrations that are unknown to this version: Migration29990101000001_later/),
  ])
  await change("delete from schema_migrations where name like '%_later'")
})

it('finds a database that was moved away and one that is incomplete', async () => {
  await using app = await testApp()
  const isFile = app.config.DB_BACKEND === 'sqlite'
  if (isFile) await writeFile(moveMarkerPath(app.config.SQLITE_PATH), '')
  else await app.services.database.fork().execute(`create table ${unfinishedTable} (id int)`)
  const { code, find } = await runDoctor(environmentOf(app))
  const message = expect.stringContaining(isFile ? 'was moved to PostgreSQL' : 'not everything is there yet')
  expect([code, find('database')]).toMatchObject([1, { status: 'failed', message }])
})

it('finds a database that is being moved', async () => {
  await using app = await testApp()
  const unlock = lockSqlite(moveLockPath(app.config.SQLITE_PATH))
  const { find } = await runDoctor(environmentOf(app), '--quick')
  unlock()
  const after = await runDoctor(environmentOf(app), '--quick')
  const isFile = app.config.DB_BACKEND === 'sqlite'
  const message = expect.stringContaining('It is being moved to PostgreSQL.')
  expect(find('database')).toMatchObject(isFile ? { status: 'warning', message } : { status: 'ok' })
  expect(after.find('database')).toMatchObject({ status: 'ok', message: expect.not.stringContaining('moved') })
})

it('finds a store that is missing, empty or of another database', async () => {
  await using app = await testApp({ alone: true })
  await using other = await testApp({ alone: true })
  const environment = environmentOf(app)
  const elsewhere = await runDoctor({ ...environment, BLOB_PATH: other.config.BLOB_PATH })
  expect([elsewhere.code, elsewhere.find('store identity')?.message]).toEqual([1, expect.stringContaining('belongs to another database')])
  const missing = await runDoctor({ ...environment, BLOB_PATH: join(app.config.DATA_DIR, 'nowhere') })
  expect([missing.code, missing.find('store')]).toMatchObject([1, { status: 'failed', message: expect.stringContaining('does not exist') }])
  const full = await runDoctor({ ...environment, MIN_FREE_BYTES: String(10 ** 15) })
  expect([full.code, full.find('space')?.status]).toEqual([1, 'failed'])
})

it('finds a store that would prevent the start, with the same message', async () => {
  await using app = await testApp({ alone: true })
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const environment = environmentOf(app)
  const folder = (name: string) => join(app.config.DATA_DIR, name)
  const find = async (more: Record<string, string>) => {
    const { code, find } = await runDoctor({ ...environment, ...more }, '--quick')
    return [code, find('store identity')]
  }
  const failed = (message: string, advice: string) => [
    1,
    { status: 'failed', message: expect.stringContaining(message), advice: expect.stringContaining(advice) },
  ]
  await mkdir(folder('unmounted'))
  expect(await find({ BLOB_PATH: folder('unmounted') })).toMatchObject(failed('has packages, but the archive store', 'adopt-store'))
  await mkdir(folder('restoring'))
  await writeFile(join(folder('restoring'), 'store-id'), 'restoring 20261122T031500000Z')
  const interrupted = { BLOB_PATH: folder('restoring'), SQLITE_PATH: folder('none.sqlite') }
  expect(await find(interrupted)).toMatchObject(failed('was interrupted, so the server does not start', 'restore <place>'))
  if (app.config.DB_BACKEND === 'postgres') return
  const lost = failed('has archives, but the database', 'correct BLOB_PATH or SQLITE_PATH')
  expect(await find({ SQLITE_PATH: folder('none.sqlite') })).toMatchObject(lost)
  expect(existsSync(folder('none.sqlite'))).toBe(false)
})

it('reports archives that are known to be missing or damaged', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const environment = await environmentAt(app, 'http://127.0.0.1:1')
  const lose = async (version: string) => {
    await rm(pathOf(app, shaOf(await publish(alice, { name: 'acme', version }))))
    expect((await alice.get(`/api/archives/acme-${version}.tar.gz`)).status).toBe(503)
  }
  await lose('1.0.0')
  const { ok, find } = await runDoctor(environment)
  expect([ok, find('archives')?.status]).toEqual([false, 'failed'])
  expect(find('archives')?.message).toBe('Archives of versions cannot be downloaded: acme 1.0.0 (missing).')
  for (const version of ['1.1.0', '1.2.0', '1.3.0']) await lose(version)
  expect((await runDoctor(environment)).find('archives')?.message).toMatch(/: acme 1\.\d\.0 \(missing\), .*, and others\.$/)
})

it('reports what is wrong with an unusable database', async () => {
  await using app = await testApp()
  const environment = environmentOf(app)
  if (app.config.DB_BACKEND === 'postgres') {
    const away = await runDoctor({ ...environment, POSTGRES_URL: `postgres://someone:verysecret@127.0.0.1:${await freePort()}/snug` })
    expect([away.code, away.find('database')?.message]).toEqual([1, expect.stringContaining('Cannot connect to PostgreSQL')])
    expect(JSON.stringify([away.checks, away.settings])).not.toContain('verysecret')
    return
  }
  await app.services.database.orm.em.getConnection().execute('pragma foreign_keys = off')
  const owner = '00000000-0000-7000-8000-000000000001'
  await app.services.database.orm.em
    .getConnection()
    .execute('insert into invites (id, created_at, user_id, hash, expires_at) values (?, 0, ?, ?, 0)', [owner, owner, 'x'])
  const damaged = await runDoctor(environment)
  expect([damaged.code, damaged.find('integrity')?.message]).toEqual([
    1,
    expect.stringMatching(/row \d+ of invites refers to a missing row of users/),
  ])
  const none = await runDoctor({ ...environment, SQLITE_PATH: join(app.config.DATA_DIR, 'none.sqlite') })
  expect(none.find('database')).toMatchObject({ status: 'warning', message: expect.stringContaining('does not exist yet') })
  await rm(join(app.config.DATA_DIR, 'none.sqlite')).then(
    () => expect.fail('It made the file.'),
    () => {},
  )
})

it('reports redirects, errors and server software between SERVER_URL and the server', async () => {
  await using app = await testApp()
  const ready = JSON.stringify({ status: 'ok', checks: { running: { status: 'ok' } } })
  const moved = await startServer((_request, reply) => reply.writeHead(301, { location: 'https://pub.example.com/readyz' }).end())
  const failing = await startServer((_request, reply) => reply.writeHead(502, { 'content-type': 'text/html', server: 'nginx' }).end('<h1>'))
  const named = await startServer((_request, reply) => reply.writeHead(200, { server: 'nginx' }).end(ready))
  const secure = await startServer((_request, reply) => reply.writeHead(200, { 'strict-transport-security': 'max-age=1' }).end(ready))
  const plain = await startServer((_request, reply) => reply.writeHead(200).end(ready))
  for (const [url, name, status, message, more] of [
    [moved, 'address', 'failed', 'a redirect to https://pub.example.com/readyz', {}],
    [failing, 'address', 'failed', '502 (text/html), which is not a response of this server', {}],
    [named, 'proxy', 'warning', "all clients appear to have the proxy's address", {}],
    [named, 'proxy', 'ok', 'TRUST_PROXY=10.0.0.0/8 matches', { TRUST_PROXY: '10.0.0.0/8' }],
    [secure, 'proxy', 'warning', 'The proxy reports https', { TRUST_PROXY: 'true' }],
    [plain, 'proxy', 'warning', 'no proxy was detected', { TRUST_PROXY: 'true', LISTEN_PORT: new URL(plain).port }],
  ] as const) {
    const { find } = await runDoctor(await environmentAt(app, url, more))
    expect([url, find(name)]).toMatchObject([url, { status, message: expect.stringContaining(message) }])
  }
})

it('judges clocks by their difference', () => {
  const statusOf = (ms: number) => clockOf({ database: ms, server: null }).map(({ status }) => status)
  expect([0, -4000, 30_000, -400_000].map(statusOf)).toEqual([['ok'], ['ok'], ['warning'], ['failed']])
  expect(clockOf({ database: -90_000 })).toMatchObject([{ message: 'Clock comparison: this machine is 90 s behind the database.' }])
  expect(clockOf({ database: null })).toEqual([])
})
