import SqliteDatabase from 'better-sqlite3'
import { statSync } from 'node:fs'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import type { Answer } from '../actor.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

it('restricts the SQLite database and its sidecar files to the own account', async () => {
  await using app = await testApp()
  const { DB_BACKEND, SQLITE_PATH } = app.config
  if (DB_BACKEND !== 'sqlite') return expect(DB_BACKEND).toBe('postgres')
  const rights = ['', '-wal', '-shm', '.lock'].map((end) => statSync(SQLITE_PATH + end).mode & 0o777)
  return expect(rights).toEqual([0o600, 0o600, 0o600, 0o600])
})

it('never replaces an audit entry', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await publish(admin, { name: 'acme', version: '1.0.0' })
  const connection = app.services.database.orm.em.getConnection()
  const before = await app.services.database.reads.all('select * from audit_entries order by id')
  expect(before.length).toBeGreaterThan(0)
  const replacements =
    app.config.DB_BACKEND === 'sqlite'
      ? [
          'insert or replace into audit_entries select * from audit_entries',
          'replace into audit_entries (rowid, id, created_at, kind, summary) select rowid, id || 1, created_at, kind, 1 from audit_entries',
          "insert into audit_entries select * from audit_entries where true on conflict (id) do update set summary = ''",
        ]
      : ["insert into audit_entries select * from audit_entries on conflict (id) do update set summary = ''"]
  for (const sql of replacements) await expect(connection.execute(sql)).rejects.toThrow(/audit entries are never changed/)
  expect(await app.services.database.reads.all('select * from audit_entries order by id')).toEqual(before)
})

it('waits for a lock of another process on SQLite', async () => {
  await using app = await testApp()
  const { DB_BACKEND, SQLITE_PATH } = app.config
  const alice = await app.member()
  const makeToken = () => alice.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })
  if (DB_BACKEND !== 'sqlite') return expect(await makeToken()).toMatchObject({ status: 201 })
  const other = new SqliteDatabase(SQLITE_PATH)
  other.exec('begin exclusive')
  const soon = makeToken()
  setTimeout(() => other.exec('rollback'), 300)
  expect(await soon).toMatchObject({ status: 201 })
  return other.close()
})

it('answers 503 when a lock of another process on SQLite lasts, while reads continue', async () => {
  await using app = await testApp({ env: { DB_POOL_TIMEOUT_MS: '5000' } })
  const { DB_BACKEND, SQLITE_PATH } = app.config
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const makeToken = () => alice.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })
  if (DB_BACKEND !== 'sqlite') return expect(await makeToken()).toMatchObject({ status: 201 })
  // The first query also loads the lexer of queries.
  await alice.graphql('{ package(name: "acme") { name } }')
  const other = new SqliteDatabase(SQLITE_PATH)
  other.exec('begin exclusive')
  const refused = Promise.all([makeToken(), alice.graphql('mutation { updateProfile(input: { displayName: "Alicia" }) { user { id } } }')])
  const reads = await Promise.all([
    alice.get('/api/auth/me'),
    alice.get('/api/packages/acme'),
    alice.graphql('{ package(name: "acme") { name } }'),
  ])
  expect(reads.map(({ status }) => status)).toEqual([200, 200, 200])
  const [rest, graphql] = await refused
  expect(rest).toMatchObject({ status: 503, body: { error: { code: 'ServiceUnavailable' } } })
  expect(rest.headers['retry-after']).toBe('2')
  expect(graphql).toMatchObject({ status: 503, headers: { 'retry-after': '2' } })
  expect(graphql.body.errors[0].extensions.code).toBe('ServiceUnavailable')
  await expect(app.services.database.probeWrite(300)).rejects.toThrow(/longer than 300 ms/)
  other.exec('rollback')
  other.close()
  await app.services.database.probeWrite()
  return expect(await makeToken()).toMatchObject({ status: 201 })
})

async function connectTo(url: string | undefined) {
  const client = new Client(url)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

it('refuses requests that need a locked table long before the lock timeout while others continue', async () => {
  await using app = await testApp()
  const longMs = app.config.DB_LOCK_TIMEOUT_MS / 2
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const listing = () => alice.get('/api/packages/acme')
  if (app.config.DB_BACKEND !== 'postgres') return expect(await listing()).toMatchObject({ status: 200 })
  await using other = await connectTo(app.config.POSTGRES_URL)
  const timed = async (request: () => Promise<Answer>) => {
    const started = performance.now()
    const { status, headers } = await request()
    return { status, retryAfter: headers['retry-after'], ms: performance.now() - started }
  }
  // The first query also loads the lexer of queries.
  await alice.graphql('{ package(name: "acme") { name } }')
  await other.query('begin')
  await other.query('lock table packages in access exclusive mode')
  for (let round = 0; round < 3; round++) {
    const search = () => alice.graphql('{ package(name: "acme") { name } }')
    const blocked = Promise.all(Array.from({ length: 40 }, (_, at) => timed(at % 2 ? listing : search)))
    const free = await Promise.all(Array.from({ length: 5 }, () => timed(() => alice.get('/api/auth/me'))))
    const written = await timed(() => alice.post('/api/auth/keys', { name: 'ci', scopes: ['read'] }))
    expect(free.map(({ status }) => status)).toEqual(free.map(() => 200))
    expect(Math.max(...free.map(({ ms }) => ms))).toBeLessThan(longMs)
    expect(written).toMatchObject({ status: 201 })
    for (const { status, retryAfter, ms } of await blocked) {
      expect(status).toBe(503)
      expect(retryAfter).toBe('2')
      expect(ms).toBeLessThan(longMs)
    }
  }
  await other.query('rollback')
  await expect.poll(async () => (await listing()).status).toBe(200)
  await other.query('begin')
  await other.query('lock table sessions, access_tokens in access exclusive mode')
  expect(await timed(() => alice.get('/api/auth/me'))).toMatchObject({ status: 503 })
  expect(await app.anonymous.get('/api/v1/health')).toMatchObject({ status: 200 })
  await other.query('rollback')
  await expect.poll(async () => (await alice.get('/api/auth/me')).status).toBe(200)
  return undefined
})
