import { setTimeout as wait } from 'node:timers/promises'
import type { Services } from '../../services.ts'
import { openThreadPool } from '../../platform/threads/pool.ts'
import { z } from 'zod'
import type { PostgresConnections } from '../../platform/db/postgres/postgres-connections.ts'

/** A table or an index. The size of a table includes large values stored outside of its rows. */
export type Relation = {
  name: string
  kind: 'table' | 'index'
  sizeBytes: number
  /** Number of rows of a table or entries of an index; null if unknown. */
  rows: number | null
}

/** Results that are expensive to compute; null if computing them took too long. */
export type Sizes = {
  /** Total size of the archives of all versions. */
  archiveBytes: number | null
  /** Total size of the documentation of all versions. */
  docsBytes: number | null
  relations: Relation[] | null
}

/** Sizes with the time of the measurement; null if nothing was measured yet. */
type Measurement = Sizes & { measuredAt: Date | null }

/** Time limit of a measurement. */
const budgetMs = 20_000
/** How long a caller waits for a measurement: the first one, and later ones, when an earlier result is available. */
const waitMs = 4000
const waitWithLastMs = 500
/** A result is cached for one minute, or for 30 times the duration of the measurement if that is longer. */
const cacheMs = 60_000
const cacheFactor = 30
/** Maximum age of a measurement that counts as recent. */
const recentMs = 3_600_000

declare module '../../services.ts' {
  interface State {
    /** Latest measurement of the database. */
    measurement?: Memory
  }
}

type Reader = Pick<Services, 'database' | 'config' | 'log' | 'now' | 'state'>
type Memory = { last: Measurement; validUntil: number; running: { result: Promise<Measurement>; began: number } | null }

const nothing: Measurement = { archiveBytes: null, docsBytes: null, relations: null, measuredAt: null }

/**
 * Returns totals over the whole database. Runs one measurement at a time outside of the event loop, and caches results. If it
 * takes long, returns the previous result (empty the first time). Never throws.
 */
export async function measure(reader: Reader): Promise<Measurement> {
  const memory = memoryOf(reader)
  if (memory.validUntil > reader.now().getTime()) return memory.last
  const { result, began } = (memory.running ??= begin(memory, reader))
  const patience = (memory.last.measuredAt ? waitWithLastMs : waitMs) - (performance.now() - began)
  return patience > 0 ? Promise.race([result, wait(patience, memory.last, { ref: false })]) : memory.last
}

/**
 * Returns totals that were measured within the last hour. Otherwise measures, however long it takes. Unknown totals are null. Never
 * throws.
 */
export async function measureRecent(reader: Reader): Promise<Measurement> {
  const memory = memoryOf(reader)
  const isRecent = ({ measuredAt }: Measurement) => measuredAt !== null && reader.now().getTime() - measuredAt.getTime() <= recentMs
  if (isRecent(memory.last)) return memory.last
  const found = await (memory.running ??= begin(memory, reader)).result
  return isRecent(found) ? found : nothing
}

const memoryOf = ({ state }: Reader): Memory => (state.measurement ??= { last: nothing, validUntil: 0, running: null })
const begin = (memory: Memory, reader: Reader) => ({ result: renew(memory, reader), began: performance.now() })

/** Runs a measurement and caches its result. An incomplete result does not replace a complete one. */
async function renew(memory: Memory, reader: Reader): Promise<Measurement> {
  const began = performance.now()
  const found = await attempt(reader)
  if (isWhole(found) || !isWhole(memory.last)) memory.last = found
  memory.validUntil = reader.now().getTime() + Math.max(cacheMs, cacheFactor * (performance.now() - began))
  memory.running = null
  return memory.last
}

async function attempt({ database, config, log, now }: Reader): Promise<Measurement> {
  const measuredAt = now()
  try {
    const { pool } = database.reads
    const sizes = await (pool ? measurePostgres(pool, budgetMs) : measureSqlite(config.SQLITE_PATH, budgetMs))
    return { ...sizes, measuredAt }
  } catch (error) {
    log.warning(`statistics: measuring the database failed: ${String(error)}`)
    return nothing
  }
}

const isWhole = ({ archiveBytes, docsBytes, relations }: Sizes) => archiveBytes !== null && docsBytes !== null && relations !== null

const askSqlite = openThreadPool(new URL('./sqlite-worker.ts', import.meta.url), { deadlineMs: 600_000, idleMs: 0, memory: {} })

/** Measures an SQLite file in a worker thread, as far as `budgetMs` allows. Throws ThreadFailed. */
export const measureSqlite = (path: string, budgetMs: number): Promise<Sizes> => askSqlite({ path, budgetMs }) as Promise<Sizes>

/** Measures a PostgreSQL database. PostgreSQL cancels statements that take longer than `budgetMs`. Rejects if permissions are missing. */
async function measurePostgres(pool: PostgresConnections, budgetMs: number): Promise<Sizes> {
  const client = await pool.acquire()
  let broken = true
  try {
    await client.query('begin read only')
    await client.query(`set local statement_timeout = ${budgetMs}`)
    const withTimeout = (text: string) => ({ text, query_timeout: budgetMs + 1000 })
    const relations = relationRows.parse((await client.query(withTimeout(relationSizes))).rows)
    const archives = await client.query<{ bytes: string }>(withTimeout(archiveBytes))
    const docs = await client.query<{ bytes: string }>(withTimeout(docsBytes))
    await client.query('commit')
    broken = false
    return { relations, archiveBytes: Number(archives.rows[0]?.bytes), docsBytes: Number(docs.rows[0]?.bytes) }
  } finally {
    pool.release(client, broken)
  }
}

const archiveBytes = 'select coalesce(sum(archive_bytes), 0) as bytes from package_versions'
const docsBytes = 'select coalesce(sum(bytes), 0) as bytes from version_docs'

/** Sizes come from the file system. Row counts are the planner's estimates, updated by `analyze`; -1 before the first one. */
const relationSizes = `
  select c.relname as name, case c.relkind when 'i' then 'index' else 'table' end as kind,
    case c.relkind when 'i' then pg_relation_size(c.oid) else pg_table_size(c.oid) end as "sizeBytes",
    nullif(c.reltuples, -1) as rows
  from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'm', 'i')`

const relationRows = z.array(
  z.object({
    name: z.string(),
    kind: z.enum(['table', 'index']),
    // The driver returns 64-bit integers as strings.
    sizeBytes: z.coerce.number(),
    rows: z.number().nullable(),
  }),
)
