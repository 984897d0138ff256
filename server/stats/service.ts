import { stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Services } from '../services.ts'
import { type Relation } from './relations.ts'
import { measure } from './measurement.ts'

type Reader = Pick<Services, 'database' | 'config' | 'log' | 'now'>

/** Bytes that something takes, or null where nobody can tell: that is never shown as 0. */
export type Usage = { bytes: number | null }

export type Disk = Record<'archives' | 'docs' | 'database' | 'total', Usage> & {
  /** When archives and documentation were measured; null when they never were. */
  measuredAt: Date | null
}

/** What the database says of itself. */
export type DatabaseReport = {
  engine: string
  version: string
  sizeBytes: number
  /** What a vacuum would make free; on PostgreSQL an estimate, out of its count of dead rows. */
  reclaimableBytes: number | null
  /** The largest tables and indexes, largest first; null when measuring took too long. */
  tables: Relation[] | null
  /** When tables and indexes were measured; null when they never were. */
  measuredAt: Date | null
}

export type Counts = Record<'packages' | 'versions' | 'users' | 'publishers', number>

/** How much there is of each. */
export async function countResources({ database }: Pick<Services, 'database'>): Promise<Counts> {
  const row = await database.heavyReads.get(
    `select (select count(*) from packages) as packages, (select count(*) from package_versions) as versions,
       (select count(*) from users) as users, (select count(*) from publishers) as publishers`,
  )
  return countsRow.parse(row)
}

// PostgreSQL hands out 64-bit integers as text.
const integer = z.coerce.number()
const countsRow = z.object({ packages: integer, versions: integer, users: integer, publishers: integer })

/** How long the server has been running, in whole seconds. */
export const uptimeOf = ({ startedAt, now }: Pick<Services, 'startedAt' | 'now'>) => ({
  startedAt,
  uptimeSeconds: Math.max(0, Math.floor((now().getTime() - startedAt.getTime()) / 1000)),
})

/**
 * How much room things take. Archives and documentation: what the versions name, wherever the bytes are. The database with its sidecar files.
 * The sum is known when every part is.
 */
export async function diskUsage(reader: Reader): Promise<Disk> {
  const [{ archiveBytes, docsBytes, measuredAt }, database] = await Promise.all([measure(reader), databaseBytes(reader)])
  const parts = [archiveBytes, docsBytes, database]
  const total = parts.reduce<number | null>((sum, part) => (sum === null || part === null ? null : sum + part), 0)
  return {
    archives: { bytes: archiveBytes },
    docs: { bytes: docsBytes },
    database: { bytes: database },
    total: { bytes: total },
    measuredAt,
  }
}

/** Which kind of storage holds what. */
export const backendsOf = ({ config }: Pick<Services, 'config'>) => ({
  database: config.DB_BACKEND,
  blobs: config.BLOB_BACKEND,
  docs: config.DOCS_BACKEND,
  search: config.DB_BACKEND === 'sqlite' ? 'fts5' : 'tsvector',
})

/** How many tables and indexes a report names. */
const maxRelations = 20

/** What the database engine reports, or null when it does not, as for a lack of rights. */
export async function reportDatabase(reader: Reader): Promise<DatabaseReport | null> {
  const { database, log } = reader
  try {
    const facts = factsRow.parse(await database.reads.get(database.backend === 'sqlite' ? sqliteFacts : postgresFacts))
    const { relations, measuredAt } = await measure(reader)
    const engine = database.backend === 'sqlite' ? 'sqlite' : 'postgresql'
    const tables = relations?.toSorted((a, b) => b.sizeBytes - a.sizeBytes || (a.name < b.name ? -1 : 1)).slice(0, maxRelations) ?? null
    return { engine, ...facts, tables, measuredAt }
  } catch (error) {
    log.warning(`statistics: the database does not report: ${String(error)}`)
    return null
  }
}

const factsRow = z.object({ version: z.string(), sizeBytes: integer, reclaimableBytes: integer.nullable() })

const sqliteFacts = `
  select sqlite_version() as version, page_count * page_size as "sizeBytes", freelist_count * page_size as "reclaimableBytes"
  from pragma_page_count, pragma_page_size, pragma_freelist_count`

/** The share of dead rows in each table's size is what a vacuum frees for new rows. */
const postgresFacts = `
  select current_setting('server_version') as version, pg_database_size(current_database()) as "sizeBytes",
    (select floor(coalesce(sum(pg_table_size(relid) * (n_dead_tup::float8 / nullif(n_live_tup + n_dead_tup, 0))), 0))
     from pg_stat_user_tables) as "reclaimableBytes"`

/** The database on disk: SQLite's file with its log and index of the log, or what PostgreSQL says; null where it may not be asked. */
async function databaseBytes({ database, config, log }: Reader): Promise<number | null> {
  try {
    if (database.backend === 'postgres') {
      return integer.parse((await database.reads.get<{ bytes: string }>('select pg_database_size(current_database()) as bytes'))?.bytes)
    }
    const sizes = await Promise.all(['', '-wal', '-shm'].map((sidecar) => sizeOf(`${config.SQLITE_PATH}${sidecar}`)))
    return sizes.reduce((sum, size) => sum + size, 0)
  } catch (error) {
    log.warning(`statistics: the size of the database is unknown: ${String(error)}`)
    return null
  }
}

/** Sidecar files come and go. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
