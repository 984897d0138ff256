import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { recordFault, sum } from '../support/fault-run.ts'
import { auditPublished, auditLeftovers } from '../support/fault-audit.ts'
import { type Backend, databaseOf, FaultRegistry } from '../support/fault-registry.ts'
import { secretForTests, start } from '../support/server-process.ts'

/** Lists the archives in the store of a data folder. Backdates them first, so that a garbage collection would delete unreferenced ones. */
function archivesIn(folder: string): string[] {
  const root = join(folder, 'blobs', 'sha256')
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { parentPath, name } of files) utimesSync(join(parentPath, name), 0, 0)
  return files.map(({ name }) => name)
}

const databases = async (url: string): Promise<string[]> => {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ datname: string }>('select datname from pg_database')
  await client.end()
  return rows.map(({ datname }) => datname)
}

const backends: Backend[] = ['sqlite', 'postgres']

it.for(backends)(
  'refuses to start with another database when the store has archives, and deletes none, on %s',
  async (backend, context) => {
    const registry = await FaultRegistry.open(backend)
    const { folder, env: own } = registry
    await registry.publishMany({ label: 'kept', publishes: 20 })
    await registry.kill()
    const archives = archivesIn(folder)
    expect(archives).toHaveLength(20)

    const otherFile = join(folder, 'other.sqlite')
    const others: Record<string, string>[] = [
      { ...own, DB_BACKEND: 'sqlite', SQLITE_PATH: otherFile },
      { ...own, ...(await databaseOf('postgres')) },
    ]
    for (const other of others) {
      const refused = await start(folder, other)
      expect(await refused.exit).toBe(78)
      expect(refused.log()).toMatch(/ERROR The archive store .* has archives, but the database .* has no packages/)
      expect(refused.log()).toContain('npm run admin -- adopt-store')
      expect(archivesIn(folder)).toEqual(archives)
    }
    expect(existsSync(otherFile)).toBe(false)

    if (own.POSTGRES_URL) {
      const mistyped = new URL(own.POSTGRES_URL)
      mistyped.pathname += '_mistyped'
      const refused = await start(folder, { ...own, POSTGRES_URL: mistyped.href })
      expect(await refused.exit).toBe(78)
      expect(refused.log()).toContain(`the database "${mistyped.pathname.slice(1)}" on ${mistyped.host} does not exist`)
      expect(await databases(own.POSTGRES_URL)).not.toContain(mistyped.pathname.slice(1))
    }

    const begunAt = Date.now()
    await registry.start()
    await registry.publish({ name: 'kept_0', version: '2.0.0' })
    const seconds = (Date.now() - begunAt) / 1000
    const published = await auditPublished(registry, 'kept')
    expect(await registry.stop()).toBe(0)
    const kept = archivesIn(folder)

    // After adopt-store, the store belongs to the other database, and the previous database is refused.
    const adoptStore = (database: Record<string, string>) =>
      execFileSync(process.execPath, ['server/platform/launch/snug.mjs', 'admin', 'adopt-store'], {
        env: { JWT_SECRET: secretForTests, DATA_DIR: folder, PATH: process.env.PATH, ...database },
        encoding: 'utf8',
      })
    expect(adoptStore(others[0] ?? {})).toContain('now belongs to this database')
    expect(await (await start(folder, own)).exit).toBe(78)
    const adopted = await start(folder, others[0])
    expect(adopted.log()).toContain('Snug is ready')
    adopted.process.kill('SIGTERM')
    expect(await adopted.exit).toBe(0)
    expect(archivesIn(folder)).toEqual(kept)

    adoptStore(own)
    const fault = `start with another database, ${others.length} times after 20 publishes`
    recordFault(context, registry, { fault, seconds, ...sum(published, await auditLeftovers(registry)) })
  },
)
