import type { Constructor, MigrationObject } from '@mikro-orm/core'
import type { Migration } from '@mikro-orm/migrations'
import type { MikroORM } from '@mikro-orm/sql'
import { migrationNames } from './migration-files.ts'
import type { DatabaseConfig } from './options.ts'
import { version } from '../version.ts'

/** Any number that no other program is likely to lock on the same PostgreSQL. */
const advisoryLock = 7_305_514_901
/** The setting that tells which version migrated last: versions before it refuse the database. */
const writerKey = 'schema.version'

/**
 * Brings the schema up to date. On PostgreSQL an advisory lock keeps other instances waiting until `orm` is closed, whose connection has it;
 * SQLite has one process. `tell` hears of each migration of a database that was in use before, when it begins.
 * @throws Error when the database was written by a newer version of this program.
 */
export async function migrate(orm: MikroORM, config: DatabaseConfig, tell?: (name: string) => void): Promise<void> {
  if (await isMigrated(orm, config)) return
  if (config.DB_BACKEND === 'postgres') {
    await orm.em.getConnection().execute('select pg_advisory_lock(?)', [advisoryLock])
    // Another instance, and perhaps a newer one, may have migrated meanwhile.
    if (await isMigrated(orm, config)) return
  }
  await run(orm, config, { tell })
}

/**
 * Whether the schema is that of this program.
 * @throws Error when the database was written by a newer version of it.
 */
export async function isMigrated(orm: MikroORM, config: DatabaseConfig): Promise<boolean> {
  const { pending, unknown, writer } = await migrationsOf(orm, config)
  if (unknown.length > 0) throw tooNew(writer, unknown)
  return pending.length === 0
}

/** What the schema lacks of this program's, and what it has of a newer one's. */
export type Migrations = {
  pending: string[]
  unknown: string[]
  /** The version that migrated it last, where there are unknown ones and it said so. */
  writer: string | null
}

/** Compares the migrations that a database had with those of this program. */
export async function migrationsOf(orm: MikroORM, { DB_BACKEND }: Pick<DatabaseConfig, 'DB_BACKEND'>): Promise<Migrations> {
  const [known, done] = [migrationNames(DB_BACKEND), await applied(orm)]
  const unknown = done.filter((name) => !known.includes(name))
  const pending = known.filter((name) => !done.includes(name))
  return { pending, unknown, writer: unknown.length > 0 ? await writerOf(orm) : null }
}

/** Runs just these migrations, on a database that is to be filled by what had them. */
export const migrateTo = (orm: MikroORM, config: DatabaseConfig, names: string[]): Promise<void> => run(orm, config, { names })

type Run = { names?: string[]; tell?: ((name: string) => void) | undefined }

async function run(orm: MikroORM, { DB_BACKEND }: DatabaseConfig, { names, tell }: Run): Promise<void> {
  // Only needed when there is something to do: the migrator takes a while to load.
  const { Migrator } = await import('@mikro-orm/migrations')
  const migrationsList = await Promise.all(migrationNames(DB_BACKEND).map((name) => load(DB_BACKEND, name)))
  orm.config.set('migrations', { ...orm.config.get('migrations'), migrationsList })
  const migrator = new Migrator(orm.em)
  if (tell && (await applied(orm)).length > 0) migrator.on('migrating', ({ name }) => tell(name))
  await migrator.up(names && { migrations: names })
  const note = 'insert into server_settings (key, value) values (?, ?) on conflict (key) do update set value = excluded.value'
  await orm.em.getConnection().execute(note, [writerKey, JSON.stringify(version)])
}

async function load(backend: DatabaseConfig['DB_BACKEND'], name: string): Promise<MigrationObject> {
  const module = (await import(`./migrations/${backend}/${name}.ts`)) as Record<string, Constructor<Migration>>
  const found = module[name]
  if (!found) throw new Error(`The migration ${name} is not in its file.`)
  return { name, class: found }
}

async function applied(orm: MikroORM): Promise<string[]> {
  const connection = orm.em.getConnection()
  if (!(await orm.driver.getPlatform().getSchemaHelper()?.tableExists(connection, 'schema_migrations', undefined))) return []
  const rows: { name: string }[] = await connection.execute('select name from schema_migrations')
  return rows.map((row) => row.name)
}

async function writerOf(orm: MikroORM): Promise<string | null> {
  const asked: Promise<{ value: string }[]> = orm.em.getConnection().execute('select value from server_settings where key = ?', [writerKey])
  const [row]: { value: string }[] = await asked.catch(() => [])
  return row ? String(JSON.parse(row.value)) : null
}

const tooNew = (writer: string | null, unknown: string[]) =>
  new Error(
    `The database was written by a newer version${writer === null ? '' : `, Snug ${writer}`}; this is Snug ${version}, which does not know ${unknown.join(', ')}. Start the newer version, or restore a backup from before the upgrade.`,
  )
