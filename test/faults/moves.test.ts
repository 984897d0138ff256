import { expect, it, onTestFinished } from 'vitest'
import { withClient } from '../../server/backup/postgres-client.ts'
import { admin } from '../support/admin-process.ts'
import { FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { createDatabase } from '../support/postgres.ts'
import { start } from '../support/server-process.ts'

const publishes = isFullRun ? 400 : 12

/** Locks a table, if any, and gives when a move waits for it, or has begun; then lets go of the table. */
const whenAt = (url: string, table: string | null, then: () => Promise<void>) =>
  withClient(url, async (client) => {
    if (table !== null) await client.query(`begin; lock table ${table} in exclusive mode`)
    const sign = table === null ? "from pg_tables where tablename = 'database_move'" : 'from pg_locks where not granted'
    await expect.poll(async () => (await client.query(`select ${sign}`)).rowCount, { interval: 5 }).toBeGreaterThan(0)
    await then()
  })

it('moves an SQLite file to PostgreSQL without a loss, killed again and again', async () => {
  const registry = await FaultRegistry.open('sqlite')
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  const move = () => admin(registry.folder, registry.env, 'move-database', url, '--json')
  const [refused] = await Promise.all([move().result, registry.publishMany({ label: 'moved', publishes, packages: 6 })])
  expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('Stop the other server first') })
  // The log beside the file still has some of it.
  await registry.kill()

  const postgres = { ...registry.env, DB_BACKEND: 'postgres', POSTGRES_URL: url }
  // Before there are tables; at the first rows; in the middle; when everything is there but the search index.
  for (const table of [null, 'database_move', 'package_versions', 'package_search_documents']) {
    const killed = move()
    await whenAt(url, table, async () => {
      // The command has a process of its own below the one that was started.
      process.kill(-(killed.process.pid ?? 0), 'SIGKILL')
      expect(await killed.result).toMatchObject({ code: null })
    })
  }
  const half = await start(registry.folder, postgres)
  expect([await half.exit, half.log()]).toEqual([78, expect.stringContaining('not everything is there yet')])
  const { code, out } = await move().result
  const told = JSON.parse(out.split('\n').findLast((line) => line.startsWith('{')) ?? '')
  expect([code, told]).toMatchObject([
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
