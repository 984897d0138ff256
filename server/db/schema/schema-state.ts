import type { MikroORM } from '@mikro-orm/sql'
import { ConfigError } from '../../config/config.ts'
import { hasTable } from '../has-table.ts'
import { unfinishedTable } from '../location/moved.ts'
import { foreignDatabase, foreignTables } from './foreign.ts'
import { migrationNames } from './migration-files.ts'
import type { DatabaseConfig } from '../options.ts'
import { compareParsed, parseVersion } from '../../pub/version.ts'
import { version } from '../../version.ts'

type Place = Pick<DatabaseConfig, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/** The settings that tell which version migrated last, and the oldest that works beside it. */
export const [writerKey, oldestKey] = ['schema.version', 'schema.oldest_version']

/**
 * Whether the schema has all that this program needs.
 * @throws ConfigError when the database was written by a newer version of it, beside which this one does not work: starting it again is no help.
 */
export async function isMigrated(orm: MikroORM, config: DatabaseConfig): Promise<boolean> {
  const found = await migrationsOf(orm, config)
  if (found.unknown.length > 0 && !found.isUsable) throw tooNew(found)
  return found.pending.length === 0
}

/** What the schema lacks of this program's, and what it has of a newer one's. */
export type Migrations = {
  pending: string[]
  unknown: string[]
  /** Whether it had none at all: no server has used it yet. */
  isNew: boolean
  /** The version that migrated it last, where there are unknown ones and it said so. */
  writer: string | null
  /** Whether this program works on it, perhaps after migrating it. */
  isUsable: boolean
}

/**
 * Compares the migrations that a database had with those of this program. Unknown ones are no hindrance while one version takes the place of
 * another, instance by instance: on PostgreSQL, as long as the newer version says so. An SQLite file never has two servers.
 * @throws ConfigError when the database has tables of another program.
 */
export async function migrationsOf(orm: MikroORM, config: Place): Promise<Migrations> {
  const { DB_BACKEND } = config
  const [known, done] = [migrationNames(DB_BACKEND), await applied(orm).catch(noneOfOthers)]
  if (!done?.some((name) => known.includes(name))) {
    // A server that was killed at its first start may have left an empty list of migrations, and an unfinished move has its notes.
    const foreign = await foreignTables(orm, [unfinishedTable, ...(done?.length === 0 ? ['schema_migrations'] : [])])
    // Asked last: another instance may have migrated in between, which shows at once.
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

/** The migrations that a database had. */
export async function applied(orm: MikroORM): Promise<string[]> {
  if (!(await hasTable(orm, 'schema_migrations'))) return []
  const rows: { name: string }[] = await orm.em.getConnection().execute('select name from schema_migrations')
  return rows.map((row) => row.name)
}

/** Another program's table of this name may have other columns: then it lists no migrations of this one. */
function noneOfOthers(error: unknown): null {
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

/** What is no version is not known to be early enough. */
function isBefore(one: string, other: string): boolean {
  const [a, b] = [parseVersion(one), parseVersion(other)]
  return !a || !b || compareParsed(a, b) < 0
}

const tooNew = ({ writer, unknown }: Migrations) =>
  new ConfigError([
    `The database was written by a newer version${writer === null ? '' : `, Snug ${writer}`}; this is Snug ${version}, which does not know ${unknown.join(', ')}. Start the newer version, or restore a backup from before the upgrade.`,
  ])
