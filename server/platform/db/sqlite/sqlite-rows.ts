import type { MetadataStorage } from '@mikro-orm/core'
import type { ColumnDefinition } from 'better-sqlite3'
import type { QueryResult } from 'kysely'
import { LRUCache } from 'lru-cache'

/** A result of SQLite, with a function that returns the origins of its columns. */
export type SqliteResult<Row> = QueryResult<Row> & { columns?: () => readonly ColumnDefinition[] }

type Convert = (value: unknown) => unknown
type Converters = readonly (readonly [column: string, convert: Convert])[]
/** What a database knows about its columns, by table and column: which of them are times and which are booleans. */
type Kinds = ReadonlyMap<string, Convert>
type Known = { kinds: Kinds; converters: LRUCache<string, Converters> }

/** By the metadata of the ORM. */
const knowledge = new WeakMap<MetadataStorage, Known>()
const maxStatements = 1000

const toDate: Convert = (value) => (typeof value === 'number' ? new Date(value) : value)
const toBoolean: Convert = (value) => (typeof value === 'number' ? value !== 0 : value)

/**
 * Converts the rows of a statement to the types of their columns: SQLite stores times as milliseconds and booleans as numbers. It reports from which
 * table and column each column of a result comes, also through subqueries; the metadata of the entities say what that column is. `extremes` names the
 * columns that are `min` or `max` of another, as `name=table.column`.
 */
export function convertRows<Row>(
  metadata: MetadataStorage,
  sql: string,
  columns: () => readonly ColumnDefinition[],
  extremes: readonly string[] = [],
  rows: Row[],
): Row[] {
  if (rows.length === 0) return rows
  const { kinds, converters } = knownOf(metadata)
  let ofStatement = converters.get(sql)
  if (!ofStatement) converters.set(sql, (ofStatement = convertersOf(kinds, columns(), extremes)))
  for (const row of rows as Record<string, unknown>[]) for (const [name, convert] of ofStatement) row[name] = convert(row[name])
  return rows
}

function convertersOf(kinds: Kinds, columns: readonly ColumnDefinition[], extremes: readonly string[]): Converters {
  const origins = [
    ...columns.map(({ name, table, column }) => [name, `${table}.${column}`] as const),
    ...extremes.map((extreme) => extreme.split('=') as [string, string]),
  ]
  return origins.flatMap(([name, origin]) => {
    const convert = kinds.get(origin)
    return convert ? [[name, convert] as const] : []
  })
}

function knownOf(metadata: MetadataStorage): Known {
  let known = knowledge.get(metadata)
  if (!known) knowledge.set(metadata, (known = { kinds: kindsOf(metadata), converters: new LRUCache({ max: maxStatements }) }))
  return known
}

function kindsOf(metadata: MetadataStorage): Kinds {
  const kinds = new Map<string, Convert>()
  for (const { tableName, props } of metadata.getAll().values())
    for (const { runtimeType, fieldNames: [field] = [] } of props) {
      const convert = runtimeType === 'Date' ? toDate : runtimeType === 'boolean' ? toBoolean : null
      if (field === undefined || !convert) continue
      kinds.set(`${tableName}.${field}`, convert)
    }
  return kinds
}
