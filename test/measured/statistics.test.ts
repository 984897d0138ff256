import { expect, it } from 'vitest'
import { measureSqlite } from '../../server/operations/stats/measurement.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { createDatabase } from '../support/postgres.ts'
import { publish } from '../support/publish.ts'

// Both tests spend most of their time waiting for a measurement, so they run concurrently.
it.concurrent.for(['sqlite', 'postgres'])(
  'waits once for a slow first measurement, and returns the previous one while the next is running, on %s',
  async (backend, { expect, onTestFinished }) => {
    const env: Record<string, string> = {}
    if (backend === 'postgres') {
      const { url, drop } = await createDatabase()
      onTestFinished(drop)
      Object.assign(env, { DB_BACKEND: 'postgres', POSTGRES_URL: url })
    }
    await using app = await inTurn(() => testApp({ env, now: new Date('2026-01-01T00:00:00Z') }))
    expect(app.config.DB_BACKEND).toBe(backend)
    const [alice, admin] = [await app.member(), await app.admin()]
    const first = await publish(alice, { name: 'acme', version: '1.0.0' })
    await run(app, 'alter table version_docs rename to kept_docs')
    await slowDown(app, 8)
    const unknown = { bytes: null, tables: null, measuredAt: null }
    expect(await overview(admin)).toMatchObject({ ...unknown, waitedMs: between(3000, 7000) })
    expect(await overview(admin)).toMatchObject({ ...unknown, waitedMs: between(0, 1000) })
    const measured = { bytes: first.length, tables: expect.any(Array), measuredAt: '2026-01-01T00:00:00.000Z' }
    await expect.poll(() => overview(admin), { timeout: 30_000 }).toMatchObject(measured)

    const second = await publish(alice, { name: 'acme', version: '1.1.0' })
    await slowDown(app, 4)
    app.clock.now = new Date('2026-01-02T00:00:00Z')
    for (let n = 0; n < 3; n++) expect(await overview(admin)).toMatchObject({ ...measured, waitedMs: between(0, 2000) })
    const renewed = { bytes: first.length + second.length, measuredAt: '2026-01-02T00:00:00.000Z' }
    await expect.poll(() => overview(admin), { timeout: 30_000 }).toMatchObject(renewed)
    await run(app, 'drop view version_docs', 'alter table kept_docs rename to version_docs')
  },
)

/** Opens apps one after the other: opening one blocks the process for longer than the connect timeout of the other. */
function inTurn<Value>(open: () => Promise<Value>): Promise<Value> {
  const opened = last.then(open)
  last = opened.catch(() => {})
  return opened
}
let last: Promise<unknown> = Promise.resolve()

const between = (least: number, most: number) => expect.toSatisfy((ms: number) => ms >= least && ms <= most, `${least} to ${most} ms`)

async function overview(admin: Actor) {
  const began = performance.now()
  const { disk, database } = (await admin.get('/api/admin/stats')).body
  const waitedMs = performance.now() - began
  if (database.measuredAt !== disk.measuredAt) throw new Error(`measured at ${database.measuredAt} and at ${disk.measuredAt}`)
  return { bytes: disk.archives.bytes, tables: database.tables, measuredAt: disk.measuredAt, waitedMs }
}

async function run(app: TestApp, ...statements: string[]): Promise<void> {
  for (const sql of statements) await app.services.database.fork().execute(sql)
}

/** Replaces the table `version_docs` with a view that is slow to query: summing its bytes takes about the given number of seconds. */
async function slowDown(app: TestApp, seconds: number): Promise<void> {
  const replace = (query: string) => run(app, 'drop view if exists version_docs', `create view version_docs as ${query}`)
  if (app.config.DB_BACKEND === 'postgres') return replace(`select 0 as bytes from pg_sleep(${seconds})`)
  const sample = 1_000_000
  const manyRows = (rows: number) =>
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows}) select 0 as bytes from n`
  await replace(manyRows(sample))
  // Uses the fastest of five samples. A sample slowed down by other processes would make the real view too fast.
  const taken: number[] = []
  for (let n = 0; n < 5; n++) {
    const began = performance.now()
    await measureSqlite(app.config.SQLITE_PATH, 20_000)
    taken.push(performance.now() - began)
  }
  return replace(manyRows(Math.ceil((sample * seconds * 1000) / Math.min(...taken))))
}
