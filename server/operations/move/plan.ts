import type { Client } from 'pg'
import { z } from 'zod'
import { byReference } from '../backup/postgres.ts'

/** A column of a moved table: its name and its PostgreSQL type name. */
export type Column = { name: string; type: string }

/** A table to move: its columns, and the columns of its primary key, which define the order of rows. */
export type PlannedTable = {
  name: string
  columns: Column[]
  key: string[]
  /** Whether rows refer to other rows of the same table, so that all rows must be copied in one transaction. */
  refersToItself: boolean
}

const shape = z.array(
  z.object({
    name: z.string(),
    columns: z.array(z.object({ name: z.string(), type: z.string() })),
    key: z.array(z.string()).min(1),
    refersToItself: z.boolean(),
  }),
)

/** Lists the tables to move from the PostgreSQL catalog, each after the tables that it refers to. */
export async function planMove(client: Client): Promise<PlannedTable[]> {
  const { rows } = await client.query(
    `select c.relname as name,
       (select json_agg(json_build_object('name', a.attname, 'type', t.typname) order by a.attnum)
          from pg_attribute a join pg_type t on t.oid = a.atttypid
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
       (select json_agg(a.attname order by k.at)
          from pg_index i cross join unnest(i.indkey::int2[]) with ordinality k(number, at)
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
          where i.indrelid = c.oid and i.indisprimary) as key,
       exists (select from pg_constraint f where f.contype = 'f' and f.conrelid = c.oid and f.confrelid = c.oid) as "refersToItself"
     from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname = any($1)`,
    [movedTables],
  )
  const tables = new Map(shape.parse(rows).map((table) => [table.name, table]))
  return (await byReference(client)).flatMap((name) => tables.get(name) ?? [])
}

/** Returns a comma-separated list of the quoted columns of a table, for either database. */
export const columnList = ({ columns }: PlannedTable): string => columns.map(({ name }) => quoted(name)).join(', ')

/** Returns the query that selects the rows of a table in SQLite, in key order. */
export const selectFromSqlite = (table: PlannedTable): string =>
  `select ${columnList(table)} from ${quoted(table.name)} order by ${table.key.map(quoted).join(', ')}`

/** Returns the query that selects the same rows in the same order from PostgreSQL. Texts are compared bytewise, as in SQLite. */
export function selectFromPostgres(table: PlannedTable): string {
  const isText = (key: string) => ['varchar', 'text'].includes(table.columns.find(({ name }) => name === key)?.type ?? '')
  const order = table.key.map((key) => `${quoted(key)}${isText(key) ? ' collate "C"' : ''}`)
  return `select ${columnList(table)} from ${quoted(table.name)} order by ${order.join(', ')}`
}

/** Quotes an SQL identifier for either database. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/**
 * The tables whose rows are moved to another kind of database: everything that users and the server have written. All other tables contain derived
 * data that is rebuilt.
 */
export const movedTables = [
  'access_tokens',
  'advisories',
  'advisory_packages',
  'archive_faults',
  'audit_chain',
  'audit_cuts',
  'audit_entries',
  'avatars',
  'confusable_names',
  'deleted_versions',
  'domain_checks',
  'integrity_reports',
  'invites',
  'job_tokens',
  'jobs',
  'legal_documents',
  'oauth_requests',
  'package_dependencies',
  'package_downloads',
  'package_likes',
  'package_uploaders',
  'package_versions',
  'packages',
  'publisher_claims',
  'publisher_members',
  'publishers',
  'rendered_texts',
  'reserved_names',
  'score_reports',
  'scoring_log',
  'sdk_installs',
  'server_addresses',
  'server_settings',
  'sessions',
  'setup_codes',
  'sign_in_origins',
  'uploads',
  'users',
  'version_docs',
  'version_documents',
  'version_downloads',
  'version_surfaces',
]
