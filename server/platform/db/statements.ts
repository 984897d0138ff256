import { BasePostgreSqlPlatform, type EntityManager, type MikroORM } from '@mikro-orm/sql'
import {
  type AliasableExpression,
  CompiledQuery,
  type ControlledTransaction,
  type Expression,
  type Insertable,
  type QueryResult,
  type RawBuilder,
  sql,
  type SqlBool,
} from 'kysely'
import { AsyncLocalStorage } from 'node:async_hooks'
import { metered, type StatementWatch } from './meter.ts'
import { db, insertOf, type PreparedQuery, type Query, type Statement, statementOf, type Tables, type Value } from './query.ts'
import { convertRows, type SqliteResult } from './sqlite/sqlite-rows.ts'

export type { Value }

/** Returns the rows of a query, in the transaction of `em` if it has one. Times are Dates, and columns declared as boolean are booleans. */
export function readRows<Row extends object>(em: EntityManager, query: Query<Row>): Promise<Row[]>
export function readRows<Arguments extends readonly Value[], Row extends object>(
  em: EntityManager,
  query: PreparedQuery<Arguments, Row>,
  ...given: Arguments
): Promise<Row[]>
/** Returns the rows of an SQL text as the database returns them. For statements that `db` cannot build. */
export function readRows<Row extends object>(em: EntityManager, sql: string, values: readonly Value[]): Promise<Row[]>
export async function readRows(em: EntityManager, query: AnyQuery, ...given: Given): Promise<object[]> {
  return (await run<object>(em, toStatement(query, given))).rows
}

type AnyQuery = Query<unknown> | PreparedQuery<readonly Value[], unknown> | string
/** The arguments of a prepared query, or the values of a text. */
type Given = readonly Value[] | [values: readonly Value[]]

/** Returns the first row of a query, or undefined. See `readRows`. */
export function readRow<Row extends object>(em: EntityManager, query: Query<Row>): Promise<Row | undefined>
export function readRow<Arguments extends readonly Value[], Row extends object>(
  em: EntityManager,
  query: PreparedQuery<Arguments, Row>,
  ...given: Arguments
): Promise<Row | undefined>
export function readRow<Row extends object>(em: EntityManager, sql: string, values: readonly Value[]): Promise<Row | undefined>
export async function readRow(em: EntityManager, query: AnyQuery, ...given: Given): Promise<object | undefined> {
  return (await run<object>(em, toStatement(query, given))).rows[0]
}

/** Returns the rows of a statement, as `readRows` does. */
export const readStatement = async <Row extends object>(em: EntityManager, statement: Statement): Promise<Row[]> =>
  (await run<Row>(em, statement)).rows

/**
 * Yields the rows of a large result in several queries of `batch` rows, in the order of their ids. `select` returns the query for the rows with an id
 * after `after`; it selects the column `id`, by which it must be sorted.
 */
export function rowsById<Row extends { id: string }>(
  em: EntityManager,
  select: (after: string) => Query<Row> & { limit(batch: number): Query<Row> },
  options?: { batch?: number },
): AsyncGenerator<Row>
/** Like the above for an SQL text that selects `id` as its first column and ends with the condition `<id> > ?`. */
export function rowsById<Row extends { id: string }>(
  em: EntityManager,
  sql: string,
  options?: { batch?: number; values?: readonly string[] },
): AsyncGenerator<Row>
export async function* rowsById<Row extends { id: string }>(
  em: EntityManager,
  select: string | ((after: string) => Query<Row> & { limit(batch: number): Query<Row> }),
  { batch = 500, values = [] }: { batch?: number; values?: readonly string[] } = {},
): AsyncGenerator<Row> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const rows =
      typeof select === 'string'
        ? await readRows<Row>(em, `${select} order by 1 limit ${batch}`, [...values, after])
        : await readRows<Row>(em, select(after).limit(batch))
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < batch) return
    after = last.id
  }
}

/** Runs a statement that changes rows and returns the number of affected rows. */
export function changeRows(em: EntityManager, query: Query<unknown>): Promise<number>
export function changeRows<Arguments extends readonly Value[]>(
  em: EntityManager,
  query: PreparedQuery<Arguments, unknown>,
  ...given: Arguments
): Promise<number>
export function changeRows(em: EntityManager, sql: string, values: readonly Value[]): Promise<number>
export async function changeRows(em: EntityManager, query: AnyQuery, ...given: Given): Promise<number> {
  const { numAffectedRows = 0 } = await run(em, toStatement(query, given))
  return Number(numAffectedRows)
}

const isPostgres = (em: EntityManager): boolean => em.getPlatform() instanceof BasePostgreSqlPlatform

/** Runs a query that locks its rows (`forUpdate` and the like) until the end of the transaction. SQLite has a single writer: there it does nothing. */
export const lockRows = async (em: EntityManager, query: Query<unknown>): Promise<void> =>
  isPostgres(em) ? void (await run(em, statementOf(query))) : undefined

/** Locks a table until the end of the transaction of `em`. On SQLite it does nothing. */
export const lockTable = (em: EntityManager, table: keyof Tables, mode: 'share' | 'share row exclusive'): Promise<void> =>
  lockRows(em, sql`lock table ${sql.table(table)} in ${sql.raw(mode)} mode`)

/** Takes the lock of this name until the end of the transaction of `em`. On SQLite it does nothing. */
export const lockNamed = (em: EntityManager, name: string): Promise<void> =>
  lockRows(
    em,
    db.selectNoFrom(({ fn, val }) => fn('pg_advisory_xact_lock', [fn('hashtext', [val(name)])]).as('locked')),
  )

/** Returns a query that locks its rows, which come from `table`, and skips locked ones. On SQLite it is the query itself. */
export const skipLocked = <Q extends { modifyEnd(modifier: RawBuilder<unknown>): Q }>(em: EntityManager, query: Q, table: string): Q =>
  isPostgres(em) ? query.modifyEnd(sql`for update of ${sql.id(table)} skip locked`) : query

/** Whether a column has one of these texts, which are bound as one parameter. For hundreds of texts, or statements of a hot path. */
export const isAmong = (em: EntityManager, column: Expression<string>, texts: readonly string[]): RawBuilder<SqlBool> =>
  isPostgres(em)
    ? sql`${column} = any(array(select jsonb_array_elements_text(${JSON.stringify(texts)}::jsonb)))`
    : sql`${column} in (select value from json_each(${JSON.stringify(texts)}))`

/** Converts a text to the type of ids. SQLite stores ids as texts. */
export const asId = (em: EntityManager, text: RawBuilder<unknown>): RawBuilder<string> =>
  isPostgres(em) ? sql`cast(${text} as uuid)` : sql`${text}`

/** The time `ms` milliseconds after another. */
export const timeAfter = (em: EntityManager, time: Expression<Date>, ms: Expression<number>): RawBuilder<Date> =>
  isPostgres(em) ? sql`(cast(${time} as timestamptz) + ${ms} * interval '1 millisecond')` : sql`(${time} + ${ms})`

/** Inserts rows with the columns of the first one, in batches of 50, because databases limit the parameters of a statement. */
export async function insertRows<Table extends keyof Tables>(
  em: EntityManager,
  table: Table,
  rows: readonly Insertable<Tables[Table]>[],
): Promise<void> {
  for (let at = 0; at < rows.length; at += rowsPerStatement) await run(em, insertOf(table, rows.slice(at, at + rowsPerStatement)))
}

const rowsPerStatement = 50

/** Reports every plain SQL statement to `onQuery`, as the ORM does for its own statements, and runs it through `watch`. */
export function reportStatements(em: EntityManager, listeners: Listeners): void {
  if (listeners.onQuery || listeners.watch) listening.set(em.getDriver(), listeners)
}

type Listeners = { onQuery?: ((sql: string) => void) | undefined; watch?: StatementWatch | undefined }

/** By driver, because statements run with only an entity manager at hand. */
const listening = new WeakMap<object, Listeners>()

const toStatement = (query: AnyQuery, given: Given): Statement =>
  typeof query === 'string' ? { sql: query, values: given[0] as readonly Value[] } : statementOf(query, given as readonly Value[])

/** Runs a statement. On SQLite, converts the rows of a query; those of PostgreSQL are converted by its driver. */
async function run<Row>(em: EntityManager, { sql, values, extremes }: Statement): Promise<QueryResult<Row>> {
  const result = await execute<Row>(em, sql, values)
  return result.columns && extremes
    ? { ...result, rows: convertRows(em.getMetadata(), sql, result.columns, extremes, result.rows) }
    : result
}

async function execute<Row>(em: EntityManager, sql: string, values: readonly Value[]): Promise<SqliteResult<Row>> {
  const transaction = em.getTransactionContext<ControlledTransaction<never>>()
  const query = isPostgres(em) ? CompiledQuery.raw(numbered(sql), [...values]) : CompiledQuery.raw(sql, values.map(forSqlite))
  const listeners = listening.get(em.getDriver())
  listeners?.onQuery?.(sql)
  try {
    const send = () => (transaction ?? em.getConnection().getClient()).executeQuery<Row>(query)
    const { watch } = listeners ?? {}
    return await metered(watch ? () => watch(sql, send) : send, transaction !== undefined)
  } catch (error) {
    throw em.getDriver().convertException(error as Error)
  }
}

/** Converts a value for SQLite, which has no date or boolean type and stores a JavaScript number as an integer only if it is passed as a bigint. */
export function forSqlite(value: Value): string | number | bigint | Uint8Array | null {
  if (value instanceof Date) return BigInt(value.getTime())
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value
}

/** Returns a `LIKE` pattern that matches texts containing the lower-cased `text`. Use it with `like ? escape '!'`. */
export const containing = (text: string): string => containingAsTyped(text.toLowerCase())

/** Returns the same pattern as `containing`, but keeps the case of `text`. */
export const containingAsTyped = (text: string): string => `%${text.replace(/[!%_]/g, '!$&')}%`

/**
 * Returns the condition that a column has one of these texts, bound as one parameter: queries for different numbers of texts have the same text.
 * PostgreSQL uses an index for an array, but not for a subquery.
 */
export function amongTexts(em: EntityManager, column: Expression<string>, texts: readonly string[]): AliasableExpression<SqlBool> {
  const all = JSON.stringify(texts)
  return em.getPlatform() instanceof BasePostgreSqlPlatform
    ? sql`${column} = any(array(select jsonb_array_elements_text(${all}::jsonb)))`
    : sql`${column} in (select value from json_each(${all}))`
}

/** Keeps other transactions from changing the rows of a query until the end of this one. SQLite has one writer at a time anyway. */
export async function lockShared(em: EntityManager, query: { forShare(): Query<object> }): Promise<void> {
  if (em.getPlatform() instanceof BasePostgreSqlPlatform) await readRows(em, query.forShare())
}

/** Waits until no other transaction holds the lock `key`, and holds it until the end of the transaction. SQLite has one writer at a time anyway. */
export async function lockKey(em: EntityManager, key: number): Promise<void> {
  if (em.getPlatform() instanceof BasePostgreSqlPlatform) await readRows(em, sql<object>`select pg_advisory_xact_lock(${sql.lit(key)})`)
}

/** Returns whether the database has a table. On PostgreSQL, `to_regclass` is faster than the query of the ORM, which takes milliseconds to plan. */
export async function hasTable(orm: MikroORM, name: string): Promise<boolean> {
  const connection = orm.em.getConnection()
  const platform = orm.em.getPlatform()
  if (!(platform instanceof BasePostgreSqlPlatform))
    return (await platform.getSchemaHelper()?.tableExists(connection, name, undefined)) ?? false
  const rows: unknown[] = await connection.execute('select 1 where to_regclass(?) is not null', [`public.${name}`])
  return rows.length > 0
}

/** Returns a statement with PostgreSQL's numbered parameters (`$1`) in place of `?`. */
export function numbered(sql: string): string {
  let position = 0
  return sql.replaceAll('?', () => `$${++position}`)
}

const storage = new AsyncLocalStorage<{ isRunning: boolean }>()

/**
 * Runs `work` without syncing its commits to disk, for work that is repeated if it is lost. Also applies to background work that it starts, until it
 * ends. On SQLite, a power failure can lose such a commit until the next synced one. PostgreSQL always syncs.
 */
export async function withoutSync<Value>(work: () => Promise<Value>): Promise<Value> {
  const piece = { isRunning: true }
  try {
    return await storage.run(piece, work)
  } finally {
    piece.isRunning = false
  }
}

/** Returns whether commits of the current work may skip the disk sync. */
export const skipsSync = (): boolean => storage.getStore()?.isRunning ?? false
