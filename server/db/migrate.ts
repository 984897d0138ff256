import type { MikroORM } from '@mikro-orm/sql'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseConfig } from './options.ts'

/** Any number that no other program is likely to lock on the same PostgreSQL. */
const advisoryLock = 7_305_514_901

/**
 * Brings the schema up to date. On PostgreSQL an advisory lock keeps other instances waiting until `orm` is closed, whose connection has it;
 * SQLite has one process.
 * @throws Error when the database was written by a newer version of this program.
 */
export async function migrate(orm: MikroORM, config: DatabaseConfig): Promise<void> {
  if (await isMigrated(orm, config)) return
  if (config.DB_BACKEND === 'sqlite') return run(orm)
  await orm.em.getConnection().execute('select pg_advisory_lock(?)', [advisoryLock])
  await run(orm)
}

/**
 * Whether the schema is that of this program.
 * @throws Error when the database was written by a newer version of it.
 */
export async function isMigrated(orm: MikroORM, config: DatabaseConfig): Promise<boolean> {
  const known = readdirSync(join(import.meta.dirname, 'migrations', config.DB_BACKEND))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
  return isCurrent(known, await applied(orm))
}

async function run(orm: MikroORM): Promise<void> {
  // Only needed when there is something to do: the migrator takes a while to load.
  const { Migrator } = await import('@mikro-orm/migrations')
  await new Migrator(orm.em).up()
}

async function applied(orm: MikroORM): Promise<string[]> {
  const connection = orm.em.getConnection()
  if (!(await orm.driver.getPlatform().getSchemaHelper()?.tableExists(connection, 'schema_migrations', undefined))) return []
  const rows: { name: string }[] = await connection.execute('select name from schema_migrations')
  return rows.map((row) => row.name)
}

function isCurrent(known: string[], applied: string[]): boolean {
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length) {
    throw new Error(
      `The database was written by a newer version (it knows ${unknown.join(', ')}). Start that version, or restore a backup.`,
    )
  }
  return known.length === applied.length
}
