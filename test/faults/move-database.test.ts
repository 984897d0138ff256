import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished, vi } from 'vitest'
import { moveToPostgres } from '../../server/operations/admin/storage.ts'
import { verifyAudit, verify } from '../../server/operations/admin/diagnostics.ts'
import { sealEntries } from '../../server/accounts/audit/chain.ts'
import { deleteOldEntries } from '../../server/accounts/audit/retention.ts'
import type { Manifest } from '../../server/operations/backup/manifest.ts'
import { openPostgresTarget } from '../../server/operations/backup/restore/postgres.ts'
import type { Config } from '../../server/platform/config/config.ts'
import { moveDatabase, type MoveProgress } from '../../server/operations/move/move.ts'
import { holdRemovals } from '../../server/platform/store/hold.ts'
import { Avatar } from '../../server/accounts/users/entity.ts'
import { type TestApp, testApp } from '../app.ts'
import { advisory, importMutation } from '../support/advisories.ts'
import { addEntries } from '../support/audit.ts'
import { documentVersion } from '../support/docs.ts'
import { writeDownloads } from '../support/downloads.ts'
import { plain } from '../support/pictures.ts'
import { createDatabase } from '../support/postgres.ts'
import { publish } from '../support/publish.ts'
import { shaOf } from '../support/stored-blobs.ts'

vi.setConfig({ testTimeout: 120_000 })

const odd = '# Odd\n\u2028 \\N \\. \t \u0001 \r\n é 🎯 \\\n'

/** Creates users of several roles and some data of each kind. */
async function populate(app: TestApp) {
  const longAgo = new Date(Date.now() - 400 * 86_400_000)
  await addEntries(app, 3, (n) => ({ kind: 'user.login', summary: `long ago, ${n}`, createdAt: longAgo }))
  const [admin, alice, bob] = [await app.admin(), await app.member(), await app.viewer()]
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'README.md': odd } })
  await publish(alice, { name: 'acme', version: '1.1.0' })
  await publish(alice, { name: 'beta', version: '2.0.0', pubspec: 'dependencies:\n  acme: ^1.0.0\n' })
  await publish(alice, { name: 'gone', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  const png = await plain({ width: 64, height: 64 }).png().toBuffer()
  await app.services.database.fork().upsert(Avatar, { user: bob.id, png, sha256: shaOf(png) })
  const answers = [
    await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' }),
    await admin.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' }),
    await admin.graphql(importMutation, { osv: JSON.stringify(advisory('GHSA-1', 'acme', { versions: ['1.0.0'] })) }),
    await bob.put('/api/account/likes/acme'),
    await alice.get('/api/archives/acme-1.0.0.tar.gz'),
    await admin.delete('/api/admin/packages/gone'),
    await alice.put('/api/packages/beta/options', { isDiscontinued: true, replacedBy: 'acme' }),
    await alice.put('/api/packages/acme/versions/1.1.0/options', { isRetracted: true }),
    await (await app.owner()).graphql('mutation { updateAuditRetention(input: { days: 365 }) { auditRetention { days } } }'),
  ]
  for (const { status, body } of answers)
    expect({ status, body }).toMatchObject({
      status: expect.toBeOneOf([200, 201]),
      body: expect.not.objectContaining({ errors: expect.anything() }),
    })
  await writeDownloads(app)
  await sealEntries(app.services)
  await deleteOldEntries(app.services)
  expect(await app.services.database.reads.all('select 1 from audit_cuts')).toHaveLength(1)
  await sealEntries(app.services)
  return { admin, alice, bob, browser: await bob.session() }
}

const pages = [
  '/api/packages/acme',
  '/api/packages/beta/options',
  '/api/packages/acme/downloads',
  '/api/packages/acme/advisories',
  '/api/packages/acme/activity-log',
  '/api/search?q=made%20test',
  '/api/search?sort=likes',
  '/api/search?q=dependency:acme',
  '/api/account/likes',
  '/api/auth/me',
  '/api/auth/keys',
]
const pagesOfAdmins = ['/api/admin/audit-log', '/api/admin/users', '/api/admin/reserved-names']

/** Reads all pages as the users see them, timestamps included. */
async function readPages({ admin, alice, bob, browser }: Awaited<ReturnType<typeof populate>>, app: TestApp) {
  const asked = [
    ...[alice, bob, browser].flatMap((actor) => pages.map((page) => ({ actor, page }))),
    ...pagesOfAdmins.map((page) => ({ actor: admin, page })),
  ]
  return Promise.all(
    asked.map(async ({ actor, page }) => {
      const { status, body } = await actor.at(app).get(page)
      // SQLite and PostgreSQL compute different search scores.
      if (page.startsWith('/api/search')) for (const found of body.packages) delete found.score
      return { page, status, body }
    }),
  )
}

async function emptyPostgres(config: Config): Promise<Config> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { ...config, DB_BACKEND: 'postgres', POSTGRES_URL: url }
}

/** Program that runs a statement in another process, because the progress callback of a move is synchronous. */
const runSql = `import pg from 'pg'
const client = new pg.Client(process.argv[1])
await client.connect()
await client.query(process.argv[2])
await client.end()`

const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
const quiet = () => {}
const at = '2026-11-22T00:00:00Z'
const contents = { migrations: [], files: [], tables: [], blobs: { count: 0, bytes: 0, lacking: [] } }
const noBackup: Manifest = { format: 1, id: '', version: '', database: 'postgres', storeId: '', startedAt: at, finishedAt: at, ...contents }

it('moves all data with timestamps in milliseconds, and leaves the SQLite file unchanged', async () => {
  await using app = await testApp({ now: new Date() })
  const people = await populate(app)
  const seen = await readPages(people, app)
  const { text: head } = await verifyAudit({ em: app.services.database.fork(), config: app.config })
  await app.stop()
  const before = hashOf(app.config.SQLITE_PATH)

  const to = await emptyPostgres(app.config)
  const said: MoveProgress[] = []
  const moved = await moveDatabase(app.config, to, (progress) => void said.push(progress))
  expect(moved.tables.find(({ name }) => name === 'package_versions')).toMatchObject({
    rows: 3,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(said.at(-1)).toEqual({ step: 'indexing', table: 'packages', done: 2, total: 2 })
  expect(hashOf(app.config.SQLITE_PATH)).toBe(before)
  expect(existsSync(`${app.config.SQLITE_PATH}-wal`)).toBe(false)
  await expect(testApp({ sameDatabaseAs: app })).rejects.toThrow('was moved to PostgreSQL')
  await expect(moveDatabase(app.config, await emptyPostgres(app.config), quiet)).rejects.toThrow('was moved to PostgreSQL')
  await expect(moveDatabase(app.config, to, quiet)).rejects.toThrow('was moved to PostgreSQL')

  await using after = await testApp({ sameDatabaseAs: app, config: to })
  expect(await readPages(people, after)).toEqual(seen)
  // Pages that a user may not see are refused on both databases.
  expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200, 403]))
  const operation = { em: after.services.database.fork(), config: to }
  const known = /the last hash is (\w{64})/.exec(head)?.[1]
  expect((await verifyAudit(operation, known)).text).toContain('The audit log is unchanged.')
  expect(await people.alice.at(after).get('/documentation/acme/1.0.0/index.json')).toMatchObject({ status: 200 })
  await publish(people.alice.at(after), { name: 'acme', version: '1.2.0' })
  expect((await verify(to)).text).toMatch(/no problems found\.$/)
})

it('continues after an interruption at any step, and keeps servers from starting before the move is complete', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  await app.stop()
  const to = await emptyPostgres(app.config)
  const interrupt = (at: (progress: MoveProgress) => boolean) =>
    expect(
      moveDatabase(app.config, to, (progress) => {
        if (at(progress)) throw new Error('interrupted')
      }),
    ).rejects.toThrow('interrupted')
  const steps = [
    ({ step, table }: MoveProgress) => step === 'copying' && table === 'packages',
    ({ step, table, done }: MoveProgress) => step === 'copying' && table === 'server_settings' && done > 0,
    ({ step, table }: MoveProgress) => step === 'comparing' && table === 'users',
    ({ step }: MoveProgress) => step === 'indexing',
  ]
  for (const at of steps) {
    await interrupt(at)
    await expect(testApp({ sameDatabaseAs: app, config: to })).rejects.toThrow(/is being moved to .*, and not everything is there yet/)
    await expect(verify(to)).rejects.toThrow('not everything is there yet')
  }
  await expect(openPostgresTarget(to, noBackup)).rejects.toThrow('not everything is there yet')
  await using other = await testApp()
  const hold = await holdRemovals(other.services.database.fork(), () => new Date())
  await expect(moveDatabase(other.config, to, quiet)).rejects.toThrow('A backup of this server is running.')
  await hold.release()
  await other.stop()
  await expect(moveDatabase(other.config, to, quiet)).rejects.toThrow('Another SQLite database is being moved to')
  // Simulates a kill at the very end, when the marker file next to the SQLite file already exists.
  writeFileSync(`${app.config.SQLITE_PATH}.moved`, 'moved')
  expect(await moveDatabase(app.config, to, quiet)).toMatchObject({ isContinued: true })
  await using after = await testApp({ sameDatabaseAs: app, config: to })
  expect((await (await after.viewer()).get('/api/search?q=acme')).body.packages).toMatchObject([{ package: 'acme' }])
})

it('copies changed rows again, and fails when another process changes the target', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'beta', version: '1.0.0' })
  await sealEntries(app.services)
  await app.stop()
  const to = await emptyPostgres(app.config)
  const interrupted = moveDatabase(app.config, to, ({ step }) => {
    if (step === 'indexing') throw new Error('interrupted')
  })
  await expect(interrupted).rejects.toThrow('interrupted')
  await using again = await testApp({ sameDatabaseAs: app })
  await publish(alice.at(again), { name: 'acme', version: '1.1.0' })
  expect(await (await again.admin()).delete('/api/admin/packages/beta')).toMatchObject({ status: 200 })
  await again.stop()
  const unfinished = moveDatabase(app.config, to, ({ step, table }) => {
    if (step === 'comparing' && table === 'users') throw new Error('interrupted')
  })
  await expect(unfinished).rejects.toThrow('interrupted')
  const other = "update users set created_at = created_at + interval '1 millisecond' where role = 'member'"
  // Changes rows of the target that the move has already compared. The move does not overwrite these rows but fails.
  let isChanged = false
  const disturbed = moveDatabase(app.config, to, ({ step }) => {
    if (step !== 'copying' || isChanged) return
    isChanged = true
    execFileSync(process.execPath, ['--input-type=module', '-e', runSql, to.POSTGRES_URL ?? '', other])
  })
  await expect(disturbed).rejects.toThrow('The table users differs between the databases at row 2')
  const { tables } = await moveDatabase(app.config, to, quiet)
  expect(tables.find(({ name }) => name === 'package_versions')).toMatchObject({ rows: 2 })
  await using after = await testApp({ sameDatabaseAs: app, config: to })
  const found = await alice.at(after).get('/api/search?q=made')
  expect(found.body.packages).toMatchObject([{ package: 'acme' }])
  expect((await verify(to)).text).toMatch(/no problems found\.$/)
})

it('refuses a database that is not empty, and invalid arguments', async () => {
  await using app = await testApp()
  await app.stop()
  const to = await emptyPostgres(app.config)
  const other = await testApp({
    sameDatabaseAs: app,
    config: { ...to, SQLITE_PATH: `${app.config.SQLITE_PATH}-none`, BLOB_PATH: `${app.config.BLOB_PATH}-none` },
  })
  await expect(moveDatabase(app.config, to, quiet)).rejects.toThrow('A server is using the database. Stop it first.')
  await other.stop()
  const url = to.POSTGRES_URL ?? ''
  await expect(moveToPostgres(app.config, url)).rejects.toThrow(/^The database "test_\w+" on 127\.0\.0\.1:\d+ is not empty\./)
  await expect(moveToPostgres(app.config)).rejects.toThrow('No target database')
  await expect(moveToPostgres(app.config, 'mysql://localhost/snug')).rejects.toThrow('write postgres://')
  await expect(moveToPostgres(to)).rejects.toThrow('The server already uses PostgreSQL')
  await expect(moveToPostgres(app.config, url.replace(/[^/]*$/, 'none'))).rejects.toThrow('does not exist')
  rmSync(app.config.SQLITE_PATH)
  await expect(moveToPostgres(app.config, url)).rejects.toThrow('There is no database at')
})
