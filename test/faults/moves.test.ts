import { createHash } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { withClient } from '../../server/operations/backup/postgres.ts'
import { admin } from '../support/admin-process.ts'
import { FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { MoveLoad } from '../support/move-load.ts'
import { createDatabase } from '../support/postgres.ts'
import { start } from '../support/server-process.ts'

const publishes = isFullRun ? 400 : 12

/** Locks a table and runs a function once a move waits for the lock, then releases it. Without a table, runs it once the move has begun. */
const whenMoveReaches = (url: string, table: string | null, then: () => Promise<void>) =>
  withClient(url, async (client) => {
    if (table !== null) await client.query(`begin; lock table ${table} in exclusive mode`)
    // pg_locks lists the locks of all databases, including those of tests that run concurrently.
    const waits = 'from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())'
    const sign = table === null ? "from pg_tables where tablename = 'database_move'" : waits
    await expect.poll(async () => (await client.query(`select ${sign}`)).rowCount, { interval: 5 }).toBeGreaterThan(0)
    await then()
  })

it('moves an SQLite file to PostgreSQL without data loss, although the command is killed repeatedly', async () => {
  const registry = await FaultRegistry.open('sqlite')
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  const move = () => admin(registry.folder, registry.env, 'move-database', url, '--json')
  await registry.publishMany({ label: 'moved', publishes, packages: 6 })
  // After a kill, the write-ahead log still holds some of the data.
  await registry.kill()

  const postgres = { ...registry.env, DB_BACKEND: 'postgres', POSTGRES_URL: url }
  // Kills the move before tables exist, at the first rows, in the middle, and when only the search index is missing.
  for (const table of [null, 'database_move', 'package_versions', 'package_search_documents']) {
    const killed = move()
    await whenMoveReaches(url, table, async () => {
      // Kills the process group, because the command runs in a child process.
      process.kill(-(killed.process.pid ?? 0), 'SIGKILL')
      expect(await killed.result).toMatchObject({ code: null })
    })
  }
  const half = await start(registry.folder, postgres)
  expect([await half.exit, half.log()]).toEqual([78, expect.stringContaining('not everything is there yet')])
  const { code, out } = await move().result
  const report = JSON.parse(out.split('\n').findLast((line) => line.startsWith('{')) ?? '')
  expect([code, report]).toMatchObject([
    0,
    { ok: true, isContinued: true, tables: expect.arrayContaining([expect.objectContaining({ rows: publishes })]) },
  ])
  const late = await start(registry.folder, registry.env)
  expect([await late.exit, late.log()]).toEqual([78, expect.stringContaining('was moved to PostgreSQL')])

  const server = await start(registry.folder, postgres)
  const headers = { authorization: `Bearer ${registry.token}` }
  for (const key of registry.acknowledged.keys()) {
    const { status } = await fetch(`${server.url}/api/archives/${key.replace(' ', '-')}.tar.gz`, { headers })
    expect([key, status]).toEqual([key, 200])
  }
  const found = await fetch(`${server.url}/api/search?q=moved`, { headers })
  expect(await found.json()).toMatchObject({ totalCount: 6 })
})

it('moves all acknowledged versions while the server keeps serving reads, although the command is killed repeatedly', async () => {
  const registry = await FaultRegistry.open('sqlite')
  const [{ url, drop }, other] = [await createDatabase(), await createDatabase()]
  onTestFinished(async () => void (await Promise.all([drop(), other.drop()])))
  const move = (to = url) => admin(registry.folder, registry.env, 'move-database', to, '--json')
  const change = async () => {
    const headers = { authorization: `Bearer ${registry.token}` }
    const began = performance.now()
    const answer = await fetch(`${registry.listensAt}/api/packages/versions/new`, { headers })
    const { error } = await answer.json()
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ms: performance.now() - began, ...error }
  }
  const [moving, interrupted, moved] = ['is being moved to PostgreSQL. Requests', 'was interrupted', 'was moved to PostgreSQL. Changes']
  const lastMoveMessage = () =>
    registry.server
      .log()
      .match(new RegExp([moving, interrupted, moved].join('|'), 'g'))
      ?.at(-1)
  await registry.publishMany({ label: 'early', publishes: publishes + 12, packages: 6 })
  const keys = [...registry.acknowledged.keys()]
  const load = new MoveLoad(registry, keys.slice(6), keys.slice(0, 6))
  onTestFinished(() => load.end())
  await load.more(4)

  for (const table of [null, 'database_move', 'package_versions']) {
    const killed = move()
    await whenMoveReaches(url, table, async () => {
      const refusals = [await change(), await change(), await change()]
      for (const refusal of refusals)
        expect(refusal).toMatchObject({
          status: 503,
          code: 'ServiceUnavailable',
          retryAfter: '60',
          message: expect.stringContaining('is being moved'),
        })
      expect(Math.min(...refusals.map(({ ms }) => ms))).toBeLessThan(1500)
      expect((await fetch(`${registry.listensAt}/readyz`)).status).toBe(200)
      if (table === 'package_versions')
        expect(await move(other.url).result).toMatchObject({ code: 1, out: expect.stringContaining('Another move of') })
      if (table !== null) await expect.poll(lastMoveMessage).toBe(moving)
      process.kill(-(killed.process.pid ?? 0), 'SIGKILL')
      await killed.result
    })
    await expect.poll(lastMoveMessage).not.toBe(moving)
    // Publishes and deletes versions, both among the copied rows and after them.
    await load.more(4)
  }

  const { code, out } = await move().result
  expect([code, out]).toEqual([0, expect.stringContaining('"isContinued":true')])
  expect(await change()).toMatchObject({ status: 503, message: expect.stringContaining('was moved to PostgreSQL') })
  await expect.poll(async () => (await fetch(`${registry.listensAt}/readyz`)).status).toBe(503)
  await expect.poll(lastMoveMessage).toBe(moved)
  await load.end()
  expect(load.failures).toEqual([])
  expect(load.deleted.size).toBeGreaterThan(0)
  expect(registry.server.log()).not.toMatch(/last use|looking for jobs|could not be kept|renew|SQLITE_(?!PATH)/)
  expect(await registry.stop()).toBe(0)

  const rows = await withClient(url, (client) =>
    client.query("select p.name || ' ' || v.version as key from package_versions v join packages p on p.id = v.package_id"),
  )
  const there = new Set(rows.rows.map(({ key }) => String(key)))
  expect([...registry.acknowledged.keys()].filter((key) => !there.has(key))).toEqual([])
  expect([...there].filter((key) => !registry.acknowledged.has(key) && !load.refused.has(key))).toEqual([])
  Object.assign(registry.env, { DB_BACKEND: 'postgres', POSTGRES_URL: url })
  await registry.start()
  for (const { served, sha256 } of registry.archives()) {
    const { status, bytes } = await registry.read(served)
    expect([served, status, createHash('sha256').update(bytes).digest('hex')]).toEqual([served, 200, sha256])
  }
  await registry.publish({ name: 'early_0', version: '2.0.0' })
  expect(await admin(registry.folder, registry.env, 'verify').result).toMatchObject({ code: 0 })
})
