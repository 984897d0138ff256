import { z } from 'zod'
import type { PostgresConnections } from '../../platform/db/postgres/postgres-connections.ts'
import type { Sizes } from './relations.ts'

/** Measures a PostgreSQL database. PostgreSQL cancels statements that take longer than `budgetMs`. Rejects if permissions are missing. */
export async function measurePostgres(pool: PostgresConnections, budgetMs: number): Promise<Sizes> {
  const client = await pool.acquire()
  let broken = true
  try {
    await client.query('begin read only')
    await client.query(`set local statement_timeout = ${budgetMs}`)
    const withTimeout = (text: string) => ({ text, query_timeout: budgetMs + 1000 })
    const relations = rows.parse((await client.query(withTimeout(relationSizes))).rows)
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

const rows = z.array(
  z.object({
    name: z.string(),
    kind: z.enum(['table', 'index']),
    // The driver returns 64-bit integers as strings.
    sizeBytes: z.coerce.number(),
    rows: z.number().nullable(),
  }),
)
