import { randomBytes, randomUUID } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { Job } from '../../server/platform/jobs/entity.ts'
import { Publisher } from '../../server/registry/publishers/entity.ts'
import { measureSqlite } from '../../server/operations/stats/measurement.ts'
import { testApp, type TestApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const onPostgres = process.env.TEST_DB === 'postgres'
const statistics = async (app: TestApp) => (await (await app.admin()).get('/api/admin/stats')).body

it('counts contents and reports the uptime', async () => {
  await using app = await testApp({ alone: true, now: new Date('2026-01-01T00:00:00Z') })
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  await publish(alice, { name: 'other', version: '1.0.0' })
  const em = app.services.database.fork()
  em.create(Publisher, { id: 'acme', displayName: 'Acme' })
  for (const state of ['queued', 'queued', 'running', 'failed', 'done'] as const)
    em.create(Job, { kind: 'test', subject: `${state} ${em.getUnitOfWork().getPersistStack().size}`, state, runAt: new Date() })
  await em.flush()
  app.clock.now = new Date('2026-01-02T00:00:01.900Z')
  const { uptime, counts, backends, jobs } = await statistics(app)
  expect(uptime).toEqual({ startedAt: '2026-01-01T00:00:00.000Z', uptimeSeconds: 86_401 })
  // The owner, Alice and the administrator who sends the request.
  expect(counts).toMatchObject({ packages: 2, versions: 3, users: 3, publishers: 1 })
  expect(backends).toEqual({
    database: onPostgres ? 'postgres' : 'sqlite',
    blobs: 'filesystem',
    docs: 'blob',
    search: onPostgres ? 'tsvector' : 'fts5',
  })
  // Each published version also waits for its analysis.
  expect(jobs).toEqual({ queued: 5, running: 1, failed: 1 })
})

it('reports disk usage of archives and of the database with its sidecar files', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const archives = [await publish(alice, { name: 'acme', version: '1.0.0' }), await publish(alice, { name: 'acme', version: '1.1.0' })]
  const { disk } = await statistics(app)
  const bytes = archives.reduce((sum, archive) => sum + archive.length, 0)
  expect(disk.archives).toEqual({ bytes, available: true })
  expect(bytes).toBe(await bytesBelow(join(app.config.BLOB_PATH, 'sha256')))
  expect(disk.docs).toEqual({ bytes: 0, available: true })
  expect(disk.total).toEqual({ bytes: bytes + disk.database.bytes, available: true })
  if (onPostgres) return expect(disk.database.bytes).toBeGreaterThan(5_000_000)
  const files = (await readdir(dirname(app.config.SQLITE_PATH))).filter((name) => /^registry\.sqlite(-wal|-shm)?$/.test(name))
  expect(files).toContain('registry.sqlite-wal')
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(dirname(app.config.SQLITE_PATH), name))).size))
  return expect(disk.database).toEqual({ bytes: sizes.reduce((sum, size) => sum + size, 0), available: true })
})

it('reports the size of the database, reclaimable space and the largest tables and indexes', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const story = randomBytes(80_000).toString('hex').replace(/.{40}/g, '$& ')
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'README.md': `# acme\n\n${story}` } })
  const run = (sql: string) => app.services.database.orm.em.getConnection().execute(sql)
  if (onPostgres) await run('analyze')
  const { database } = await statistics(app)
  expect(database).toMatchObject({
    available: true,
    engine: onPostgres ? 'postgresql' : 'sqlite',
    version: expect.stringMatching(/^\d+\.\d+/),
    sizeBytes: expect.any(Number),
    reclaimableBytes: expect.any(Number),
  })
  const { tables } = database
  expect(tables).toHaveLength(20)
  const sizes = tables.map(({ sizeBytes }: { sizeBytes: number }) => sizeBytes)
  expect(sizes).toEqual(sizes.toSorted((a: number, b: number) => b - a))
  expect(database.sizeBytes).toBeGreaterThanOrEqual(sizes.reduce((sum: number, size: number) => sum + size, 0))
  // 164 KB of README, which PostgreSQL compresses and stores in a TOAST table.
  const documents = tables.find(({ name }: { name: string }) => name === 'version_documents')
  expect(documents).toMatchObject({ kind: 'table', rows: 3 })
  expect(documents.sizeBytes).toBeGreaterThan(onPostgres ? 80_000 : 164_000)
  expect(tables.map(({ kind }: { kind: string }) => kind)).toContain('index')
})

it('measures once for concurrent requests, and again after a minute', async () => {
  await using app = await testApp({ alone: true, now: new Date('2026-01-01T00:00:00Z') })
  const [alice, admin] = [await app.member(), await app.admin()]
  const archives = async () => (await admin.get('/api/admin/stats')).body.disk.archives.bytes as number
  expect(await Promise.all([archives(), archives(), archives()])).toEqual([0, 0, 0])
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  expect(await archives()).toBe(0)
  app.clock.now = new Date('2026-01-01T00:02:00Z')
  // On a busy machine, the last measurement is returned while the next one is running.
  await expect.poll(archives).toBe(archive.length)
})

it('reports the space that a vacuum would reclaim', async () => {
  await using app = await testApp()
  const run = (sql: string) => app.services.database.orm.em.getConnection().execute(sql)
  await run(`create table waste (bytes ${onPostgres ? 'text' : 'blob'})`)
  await run(`insert into waste values (${onPostgres ? "repeat('x', 2000)" : 'zeroblob(1000000)'})`)
  if (onPostgres) await run('insert into waste select bytes from waste, generate_series(1, 500)')
  const before = (await statistics(app)).database
  await run(onPostgres ? 'delete from waste' : 'drop table waste')
  // PostgreSQL updates the number of dead rows with a delay.
  await expect.poll(async () => (await statistics(app)).database.reclaimableBytes - before.reclaimableBytes).toBeGreaterThan(900_000)
  expect((await statistics(app)).database.sizeBytes).toBeGreaterThanOrEqual(before.sizeBytes)
})

it('reports unknown values as unavailable, not as 0', async () => {
  await using app = await testApp({ alone: true })
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const unknown = { bytes: null, available: false }
  expect(await (onPostgres ? reportWithoutRights(app) : measureWithoutTime(app))).toMatchObject(
    onPostgres
      ? { database: { available: false }, disk: { database: unknown, total: unknown }, counts: { versions: 1 } }
      : { archiveBytes: null, relations: null },
  )
})

/** Returns the statistics of an instance whose role may use the tables but not read database statistics. */
async function reportWithoutRights(app: TestApp): Promise<unknown> {
  const admin = await app.admin()
  const role = `stats_${randomUUID().replaceAll('-', '')}`
  const run = (sql: string) => app.services.database.orm.em.getConnection().execute(sql)
  onTestFinished(() => dropRole(role))
  await run(`create role ${role}; grant all on all tables in schema public to ${role}`)
  const name = new URL(app.config.POSTGRES_URL ?? '').pathname.slice(1)
  // Every new connection uses this role.
  await run(`revoke connect on database ${name} from public; alter database ${name} set role = ${role}`)
  await using restricted = await testApp({ sameDatabaseAs: app })
  const { body } = await admin.at(restricted).get('/api/admin/stats')
  expect(restricted.lines.join('')).toContain('the database reported no statistics')
  return body
}

/** Returns a measurement that times out immediately. With time, the measurement is complete. */
async function measureWithoutTime({ config }: TestApp): Promise<unknown> {
  expect((await measureSqlite(config.SQLITE_PATH, 60_000)).relations?.length).toBeGreaterThan(20)
  await expect(measureSqlite(join(config.DATA_DIR, 'missing.sqlite'), 1000)).rejects.toThrow(/unable to open/)
  return measureSqlite(config.SQLITE_PATH, -1)
}

async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    entries.filter((entry) => entry.isFile()).map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Drops the role, because roles outlive databases. */
async function dropRole(role: string): Promise<void> {
  const client = new pg.Client(process.env.TEST_POSTGRES)
  await client.connect()
  await client.query(`drop role if exists ${role}`)
  await client.end()
}
