import { BasePostgreSqlPlatform, type MikroORM } from '@mikro-orm/sql'
import { ConfigError } from '../../config/config.ts'
import { hasTable } from '../statements.ts'
import { unfinishedTable } from '../location/moved.ts'
import { migrationNames } from './migration-files.ts'
import type { DatabaseConfig } from '../options.ts'
import { compareParsed, parseVersion } from '../../pub/version.ts'
import { version } from '../../config/version.ts'
import { nameOfDatabase } from '../location/missing.ts'

type Place = Pick<DatabaseConfig, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/** Keys of the settings that store the version that last migrated the schema and the oldest version that can still use it. */
export const [writerKey, oldestKey] = ['schema.version', 'schema.oldest_version']

/**
 * Returns whether all migrations of this program have been applied.
 * @throws ConfigError if the database was written by a newer, incompatible version. Restarting does not help.
 */
export async function isMigrated(orm: MikroORM, config: DatabaseConfig): Promise<boolean> {
  const found = await migrationsOf(orm, config)
  if (found.unknown.length > 0 && !found.isUsable) throw newerSchemaError(found)
  return found.pending.length === 0
}

/** Differences between the migrations of this program and those applied to a database. */
export type Migrations = {
  pending: string[]
  unknown: string[]
  /** Whether no migration has been applied, so no server has used the database yet. */
  isNew: boolean
  /** The version that last migrated the database, if there are unknown migrations and the version is recorded. */
  writer: string | null
  /** Whether this program can use the database, possibly after migrating it. */
  isUsable: boolean
}

/**
 * Compares the migrations applied to a database with those of this program. Unknown ones are allowed during a rolling upgrade on PostgreSQL, if the
 * newer version declares this version compatible.
 * @throws ConfigError if the database contains tables of another program.
 */
export async function migrationsOf(orm: MikroORM, config: Place): Promise<Migrations> {
  const { DB_BACKEND } = config
  const [known, done] = [migrationNames(DB_BACKEND), await applied(orm).catch(ignoreMissingColumn)]
  if (!done?.some((name) => known.includes(name))) {
    // A server killed at its first start may leave an empty migrations table, and an incomplete move leaves its own table.
    const foreign = await foreignTables(orm, [unfinishedTable, ...(done?.length === 0 ? ['schema_migrations'] : [])])
    // Read this setting last, so that a concurrent migration by another instance is seen.
    if (foreign.length > 0 && (await settingOf(orm, writerKey)) === null) throw foreignDatabase(config, foreign)
  }
  return compare(orm, DB_BACKEND, { known, done: done ?? [] })
}

async function compare(
  orm: MikroORM,
  backend: DatabaseConfig['DB_BACKEND'],
  { known, done }: { known: string[]; done: string[] },
): Promise<Migrations> {
  const unknown = done.filter((name) => !known.includes(name))
  const pending = known.filter((name) => !done.includes(name))
  const isNew = done.length === 0
  if (unknown.length === 0) return { pending, unknown, isNew, writer: null, isUsable: true }
  const oldest = await settingOf(orm, oldestKey)
  const isUsable = backend === 'postgres' && pending.length === 0 && oldest !== null && !isBefore(version, oldest)
  return { pending, unknown, isNew, writer: await settingOf(orm, writerKey), isUsable }
}

/** Returns the names of the applied migrations. */
export async function applied(orm: MikroORM): Promise<string[]> {
  if (!(await hasTable(orm, 'schema_migrations'))) return []
  const rows: { name: string }[] = await orm.em.getConnection().execute('select name from schema_migrations')
  return rows.map((row) => row.name)
}

/** Treats a missing column as "not our table": another program's `schema_migrations` may have other columns. */
function ignoreMissingColumn(error: unknown): null {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === undefinedColumn || String(message).includes('no such column')) return null
  throw error
}

const undefinedColumn = '42703'

async function settingOf(orm: MikroORM, key: string): Promise<string | null> {
  const asked: Promise<{ value: string }[]> = orm.em.getConnection().execute('select value from server_settings where key = ?', [key])
  const [row]: { value: string }[] = await asked.catch(() => [])
  return row ? String(JSON.parse(row.value)) : null
}

/** Returns whether `one` is before `other`. An invalid version counts as before. */
function isBefore(one: string, other: string): boolean {
  const [a, b] = [parseVersion(one), parseVersion(other)]
  return !a || !b || compareParsed(a, b) < 0
}

const newerSchemaError = ({ writer, unknown }: Migrations) =>
  new ConfigError([
    `The database was written by a newer version${writer === null ? '' : `, Snug ${writer}`}; this is Snug ${version}, which does not know ${unknown.join(', ')}. Start the newer version, or restore a backup from before the upgrade.`,
  ])

/** Maximum number of tables listed in the message. */
const maxNamed = 3

/** Returns the tables of a database except `own`. Tables of PostgreSQL extensions and of schemas other than `public` are ignored. */
async function foreignTables(orm: MikroORM, own: string[]): Promise<string[]> {
  const sql = orm.em.getPlatform() instanceof BasePostgreSqlPlatform ? postgresTables : sqliteTables
  const rows: { name: string }[] = await orm.em.getConnection().execute(sql)
  return rows.map(({ name }) => name).filter((name) => !own.includes(name))
}

/** Returns the error for a database that contains tables of another program. */
function foreignDatabase(place: Place, tables: string[]): ConfigError {
  const named = `${tables.slice(0, maxNamed).join(', ')}${tables.length > maxNamed ? ' and others' : ''}`
  const [setting, remedy] =
    place.DB_BACKEND === 'postgres'
      ? ['POSTGRES_URL', 'Create an empty database for Snug (createdb) and use that instead.']
      : ['SQLITE_PATH', 'Use another file.']
  return new ConfigError([
    `${setting}: ${nameOfDatabase(place)} belongs to another program: it has the tables ${named}. Nothing was changed in it. ${remedy}`,
  ])
}

const postgresTables = `select relname as name from pg_class where relnamespace = to_regnamespace('public') and relkind in ('r', 'p', 'f')
  and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e') order by relname`
const sqliteTables = "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name"
