import type { EntityManager } from '@mikro-orm/sql'
import type { Client } from 'pg'
import { z } from 'zod'
import { byReference, query, quotedList } from '../backup/postgres.ts'

const tableShape = z.object({
  name: z.string(),
  /** The name of each column and of its PostgreSQL type. */
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  /** The columns of the primary key, which define the order of rows. */
  key: z.array(z.string()).min(1),
  /** Whether rows refer to other rows of the same table, so that all rows must be copied in one transaction. */
  refersToItself: z.boolean(),
})
/** A table to move. */
export type PlannedTable = z.infer<typeof tableShape>

/**
 * Returns the names of the tables whose rows are moved to another kind of database, in ascending order: those of all entities. They contain
 * everything that users and the server have written. All other tables contain derived data that is rebuilt.
 */
export const movedTables = (em: EntityManager): string[] =>
  [...em.getMetadata().getAll().values()].map(({ tableName }) => tableName).toSorted()

/** Reads the tables with these names from the PostgreSQL catalog, each after the tables that it refers to. */
export async function planMove(client: Client, names: string[]): Promise<PlannedTable[]> {
  const tables = await query(
    client,
    tableShape,
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
    [names],
  )
  return (await byReference(client)).flatMap((name) => tables.find((table) => table.name === name) ?? [])
}

/** Returns the names of the columns of a table. */
export const plannedColumns = ({ columns }: PlannedTable): string[] => columns.map(({ name }) => name)

/** Returns the query that selects the rows of a table in SQLite, in key order. */
export const selectFromSqlite = (table: PlannedTable): string =>
  `select ${quotedList(plannedColumns(table))} from ${quotedList([table.name])} order by ${quotedList(table.key)}`

/** Returns the query that selects the same rows in the same order from PostgreSQL. Texts are compared bytewise, as in SQLite. */
export function selectFromPostgres(table: PlannedTable): string {
  const isText = (key: string) => ['varchar', 'text'].includes(table.columns.find(({ name }) => name === key)?.type ?? '')
  const order = table.key.map((key) => `${quotedList([key])}${isText(key) ? ' collate "C"' : ''}`)
  return `select ${quotedList(plannedColumns(table))} from ${quotedList([table.name])} order by ${order.join(', ')}`
}
