import type { MikroORM } from '@mikro-orm/sql'
import { ConfigError } from '../../config/config.ts'
import { hasTable } from '../has-table.ts'
import { migrationNames } from './migration-files.ts'
import type { DatabaseConfig } from '../options.ts'
import { compareParsed, parseVersion } from '../../pub/version.ts'
import { version } from '../../version.ts'

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
 */
export async function migrationsOf(orm: MikroORM, { DB_BACKEND }: Pick<DatabaseConfig, 'DB_BACKEND'>): Promise<Migrations> {
  const [known, done] = [migrationNames(DB_BACKEND), await applied(orm)]
  const unknown = done.filter((name) => !known.includes(name))
  const pending = known.filter((name) => !done.includes(name))
  const isNew = done.length === 0
  if (unknown.length === 0) return { pending, unknown, isNew, writer: null, isUsable: true }
  const oldest = await settingOf(orm, oldestKey)
  const isUsable = DB_BACKEND === 'postgres' && pending.length === 0 && oldest !== null && !isBefore(version, oldest)
  return { pending, unknown, isNew, writer: await settingOf(orm, writerKey), isUsable }
}

/** The migrations that a database had. */
export async function applied(orm: MikroORM): Promise<string[]> {
  if (!(await hasTable(orm, 'schema_migrations'))) return []
  const rows: { name: string }[] = await orm.em.getConnection().execute('select name from schema_migrations')
  return rows.map((row) => row.name)
}

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
