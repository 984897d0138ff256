import type { Client } from 'pg'
import { z } from 'zod'

/** State of an unused database: its schema, its sequences, and the rows of each non-empty table as JSON. */
export type Baseline = { shape: string; sequences: Record<string, string | null>; rows: Record<string, string> }

/** Captures the state of a new database. */
export async function captureBaseline(client: Client): Promise<Baseline> {
  const { shape, sequences, filled } = await inspect(client)
  const rows: Baseline['rows'] = {}
  for (const table of filled) {
    const { rows: all } = await client.query<{ content: string | null }>(`SELECT json_agg(t)::text AS content FROM "${table}" t`)
    if (all[0]?.content) rows[table] = all[0].content
  }
  return { shape, sequences, rows }
}

/**
 * Deletes the rows of a used database and restores its initial rows. No other session may be connected.
 * @returns False if the database cannot be reused: its schema or statistics were changed (ALTER TABLE, ANALYZE), or a table has grown so large that
 * its deleted rows would affect query plans.
 */
export async function resetDatabase(client: Client, baseline: Baseline): Promise<boolean> {
  const { shape, written, hasGrown } = await inspect(client)
  if (hasGrown || shape !== baseline.shape) return false
  const statements = [
    'SET session_replication_role = replica', // disables triggers and foreign keys
    'SET track_counts = off', // writes of the reset must not count as writes of the next test
    ...written.map((table) => `DELETE FROM "${table}"`),
    ...written.flatMap((table) => restoreRows(client, table, baseline.rows[table])),
    ...Object.entries(baseline.sequences).map(([name, last]) => `SELECT setval('"${name}"', ${last ?? 1}, ${last !== null})`),
    'SELECT pg_stat_reset()',
  ]
  await client.query(statements.join(';\n'))
  return true
}

function restoreRows(client: Client, table: string, rows: string | undefined): string[] {
  if (rows === undefined) return []
  return [
    `INSERT INTO "${table}" OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::"${table}", ${client.escapeLiteral(rows)})`,
  ]
}

const stateSchema = z.object({
  shape: z.string(),
  sequences: z.record(z.string(), z.string().nullable()),
  filled: z.array(z.string()),
  written: z.array(z.string()),
  hasGrown: z.boolean(),
})

/** Maximum sizes of a table and its TOAST table in bytes. The planner treats tables of up to ten pages as if they had ten. */
const [smallTable, smallRest] = [9 * 8192, 100 * 8192]

/**
 * Returns the state of the database without its rows. PostgreSQL counts writes to every table, including the catalogs that hold the schema. Counts
 * are complete when a session has ended. Effects of VACUUM, ANALYZE and TRUNCATE are visible in pg_class. Sizes are read from the files, because the
 * size functions open each table first, which is slow.
 */
async function inspect(client: Client) {
  const size = (oid: string) => `(pg_stat_file(pg_relation_filepath(${oid}))).size`
  const writes = (oid: string) =>
    `pg_stat_get_tuples_inserted(${oid}) + pg_stat_get_tuples_updated(${oid}) + pg_stat_get_tuples_deleted(${oid})`
  const { rows } = await client.query(`
    WITH mine AS (SELECT oid, relname::text AS name, relkind AS kind, reltoastrelid AS rest, pg_class::text AS entry
        FROM pg_class WHERE relnamespace = 'public'::regnamespace),
      tables AS MATERIALIZED (SELECT name, ${size('oid')} AS size, ${size('nullif(rest, 0)')} AS rest, ${writes('oid')} AS writes
        FROM mine WHERE kind = 'r'),
      this AS (SELECT * FROM pg_database WHERE datname = current_database()),
      catalogs AS (SELECT oid FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND NOT relisshared)
    SELECT json_build_array(
        (SELECT md5(string_agg(entry, ' ' ORDER BY oid)) FROM mine),
        (SELECT sum(${writes('oid')}) FROM catalogs),
        (SELECT to_jsonb(this) - '{oid,datname}'::text[] FROM this),
        (SELECT json_agg(s) FROM pg_db_role_setting s, this WHERE setdatabase = this.oid))::text AS shape,
      (SELECT json_object_agg(name, pg_sequence_last_value(oid)::text) FROM mine WHERE kind = 'S') AS sequences,
      ARRAY(SELECT name FROM tables WHERE size > 0) AS filled,
      ARRAY(SELECT name FROM tables WHERE writes > 0) AS written,
      (SELECT bool_or(size > ${smallTable} OR rest > ${smallRest}) FROM tables) AS "hasGrown"`)
  return stateSchema.parse(rows[0])
}
