import { stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Services } from '../../services.ts'
import { measure } from './measurement.ts'

type Reader = Pick<Services, 'database' | 'config' | 'log' | 'now' | 'state'>

/** Counts packages, versions, people and publishers. Versions are counted per day, because there can be millions of them. */
export async function countResources({ database }: Pick<Services, 'database'>) {
  const row = await database.reads.get(
    `select (select count(*) from packages) as packages, (select coalesce(sum(publications), 0) from daily_totals) as versions,
       (select count(*) from users where kind = 'person') as users, (select count(*) from publishers) as publishers`,
  )
  return countsRow.parse(row)
}

// The driver returns 64-bit integers as strings.
const integer = z.coerce.number()
const countsRow = z.object({ packages: integer, versions: integer, users: integer, publishers: integer })

/** Returns the start time and the uptime in whole seconds. */
export const uptimeOf = ({ startedAt, now }: Pick<Services, 'startedAt' | 'now'>) => ({
  startedAt,
  uptimeSeconds: Math.max(0, Math.floor((now().getTime() - startedAt.getTime()) / 1000)),
})

/** Returns the disk usage, as found by `measured`: totals of all versions, on any storage, and the database with its sidecar files. */
export async function diskUsage(reader: Reader, measured = measure) {
  const [{ archiveBytes, docsBytes, measuredAt }, database] = await Promise.all([measured(reader), databaseBytes(reader)])
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

/** Returns the configured storage backends. */
export const backendsOf = ({ config }: Pick<Services, 'config'>) => ({
  database: config.DB_BACKEND,
  blobs: config.BLOB_BACKEND,
  docs: config.DOCS_BACKEND,
  search: config.DB_BACKEND === 'sqlite' ? 'fts5' : 'tsvector',
})

/** Maximum number of tables and indexes in a report. */
const maxRelations = 20

/** Returns the statistics of the database engine, or null if they are unavailable, for example because permissions are missing. */
export async function reportDatabase(reader: Reader) {
  const { database, log } = reader
  try {
    const facts = factsRow.parse(await database.reads.get(database.backend === 'sqlite' ? sqliteFacts : postgresFacts))
    const { relations, measuredAt } = await measure(reader)
    const engine = database.backend === 'sqlite' ? 'sqlite' : 'postgresql'
    const tables = relations?.toSorted((a, b) => b.sizeBytes - a.sizeBytes || (a.name < b.name ? -1 : 1)).slice(0, maxRelations) ?? null
    return { engine, ...facts, tables, measuredAt }
  } catch (error) {
    log.warning(`statistics: the database reported no statistics: ${String(error)}`)
    return null
  }
}

const factsRow = z.object({ version: z.string(), sizeBytes: integer, reclaimableBytes: integer.nullable() })

const sqliteFacts = `
  select sqlite_version() as version, page_count * page_size as "sizeBytes", freelist_count * page_size as "reclaimableBytes"
  from pragma_page_count, pragma_page_size, pragma_freelist_count`

/** `VACUUM` can free about the size of each table multiplied by its fraction of dead rows. */
const postgresFacts = `
  select current_setting('server_version') as version, pg_database_size(current_database()) as "sizeBytes",
    (select floor(coalesce(sum(pg_table_size(relid) * (n_dead_tup::float8 / nullif(n_live_tup + n_dead_tup, 0))), 0))
     from pg_stat_user_tables) as "reclaimableBytes"`

/** Returns the size of the database, with its WAL files on SQLite; null if it is unknown. */
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

/** Returns the size of a file; 0 if it does not exist, as sidecar files may not. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
