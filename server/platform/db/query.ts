import { type FilterQuery, raw } from '@mikro-orm/core'
import {
  AggregateFunctionNode,
  AliasNode,
  ColumnNode,
  type Compilable,
  DummyDriver,
  type Expression,
  IdentifierNode,
  Kysely,
  type OperationNode,
  type OperationNodeSource,
  type RawBuilder,
  ReferenceNode,
  type SelectType,
  SelectQueryNode,
  sql,
  type SqlBool,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  TableNode,
} from 'kysely'
import { LRUCache } from 'lru-cache'

/** The tables by name, with the types of their columns. Features declare their tables here with `declare module` (see `entity.ts` of any feature). */
export interface Tables {}

/**
 * Builds queries, for both databases; it does not run them. Pass them to `readRows`, `readRow`, `changeRows` or `Reads`. Table and column names and
 * value types are checked by the compiler.
 */
export const db = new Kysely<Tables>({
  dialect: {
    createDriver: () => new DummyDriver(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** A query that was built by `db`, or an `sql` fragment with the type of its rows. */
export type Query<Row> = OperationNodeSource & (Compilable<Row> | RawBuilder<Row>)

/** A value bound to a `?` parameter. Dates and booleans are converted to the representation of each database. */
export type Value = string | number | boolean | Date | Uint8Array | null

/**
 * A statement with `?` for each of its values. If `extremes` is set, rows are converted to the types of their columns; it names the selected columns
 * that are `min` or `max` of a column, as `name=table.column`, because SQLite does not report where those come from.
 */
export type Statement = { sql: string; values: readonly Value[]; extremes?: readonly string[] }

const compiler = new SqliteQueryCompiler()

/** Compiles a query. The text suits both databases: they quote names alike, and only the marks of parameters differ (`numbered`). */
export function compile(query: OperationNodeSource): Statement {
  const node = query.toOperationNode()
  const { sql, parameters } = compiler.compileQuery(node as Parameters<typeof compiler.compileQuery>[0], queryId)
  return { sql, values: parameters as Value[], extremes: extremesOf(node) }
}

const queryId = { queryId: 'snug' }

function extremesOf(node: object): string[] {
  if (!SelectQueryNode.is(node as SelectQueryNode)) return []
  const { selections = [], from, joins = [] } = node as SelectQueryNode
  const tables = new Map([...(from?.froms ?? []), ...joins.map(({ table }) => table)].flatMap(namedTable))
  return selections.flatMap(({ selection }) => {
    if (!AliasNode.is(selection) || !IdentifierNode.is(selection.alias) || !AggregateFunctionNode.is(selection.node)) return []
    const { func, aggregated } = selection.node
    const [first] = aggregated
    if ((func !== 'min' && func !== 'max') || !first || !ReferenceNode.is(first) || !ColumnNode.is(first.column)) return []
    const [only] = tables.size === 1 ? tables.values() : []
    const table = first.table ? tables.get(first.table.table.identifier.name) : only
    return table === undefined ? [] : [`${selection.alias.name}=${table}.${first.column.column.name}`]
  })
}

/** Returns the name by which a query refers to a table, and the table. */
function namedTable(node: OperationNode): [string, string][] {
  if (TableNode.is(node)) return [[node.table.identifier.name, node.table.identifier.name]]
  if (!AliasNode.is(node) || !TableNode.is(node.node) || !IdentifierNode.is(node.alias)) return []
  return [[node.alias.name, node.node.table.identifier.name]]
}

/** Returns a reference to a column of a table that has an alias in the query. */
export type Columns<Table extends keyof Tables> = <Name extends keyof Tables[Table] & string>(
  name: Name,
) => Expression<SelectType<Tables[Table][Name]>>

/** The columns of `table` under an alias, for conditions that any query with this table can use. */
export const columnsOf =
  <Table extends keyof Tables>(_table: Table, alias: string): Columns<Table> =>
  (name) =>
    sql.ref(`${alias}.${name}`)

/** Returns a condition of a query as a filter for the entity manager. It gets the columns of the entity's `table`. */
export function filterBy<Entity, Table extends keyof Tables>(
  table: Table,
  condition: (column: Columns<Table>) => Expression<SqlBool>,
): FilterQuery<Entity> {
  const under = (alias: string) => compile(sql`${condition(columnsOf(table, alias))}`)
  return { [raw((alias) => under(alias).sql, under('row').values)]: [] } as FilterQuery<Entity>
}

declare const rowType: unique symbol

/** A query that is compiled once, for arguments that are bound to each execution. */
export type PreparedQuery<Arguments extends readonly Value[], Row> = {
  statement(): Statement
  /** Returns the values of the parameters for these arguments. */
  bind(given: Arguments): Value[]
  /** Exists only in the type. */
  [rowType]?: Row
}

/** Prepares a query. `build` is called once, with placeholders that it may only use as values (not as lists or in conditions of its own). */
export function prepared<Arguments extends readonly Value[], Row>(
  build: (...given: Arguments) => Query<Row>,
): PreparedQuery<Arguments, Row> {
  let known: Statement | undefined
  const statement = () => (known ??= compile(build(...(placeholders.slice(0, build.length) as unknown as Arguments))))
  const bind = (given: Arguments) =>
    statement().values.map((value) => (value instanceof Placeholder ? (given[value.position] as Value) : value))
  return { statement, bind }
}

/** Returns the statement of a query. `given`: the arguments of a prepared one. */
export function statementOf(query: Query<unknown> | PreparedQuery<readonly Value[], unknown>, given: readonly Value[] = []): Statement {
  return 'bind' in query ? { ...query.statement(), values: query.bind(given) } : compile(query)
}

class Placeholder {
  readonly position: number

  constructor(position: number) {
    this.position = position
  }
}

const placeholders = Array.from({ length: 12 }, (_, position) => new Placeholder(position))

/** Returns the statement that inserts rows, with the columns of the first one. Its text is built once for each set of columns and number of rows. */
export function insertOf(table: string, rows: readonly Record<string, unknown>[]): Statement {
  const columns = Object.entries(rows[0] ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const key = `${table} ${columns.join()} ${rows.length}`
  let sql = inserts.get(key)
  if (sql === undefined) inserts.set(key, (sql = insertText(table, columns, rows.length)))
  return { sql, values: rows.flatMap((row) => columns.map((name) => (row[name] ?? null) as Value)) }
}

const inserts = new LRUCache<string, string>({ max: 500 })

function insertText(table: string, columns: readonly string[], count: number): string {
  const row = `(${columns.map(() => '?').join(', ')})`
  const names = columns.map((name) => `"${name}"`).join(', ')
  return `insert into "${table}" (${names}) values ${Array.from({ length: count }, () => row).join(', ')}`
}
