import { BasePostgreSqlPlatform, type EntityManager, type MikroORM } from '@mikro-orm/sql'
import { CompiledQuery, type ControlledTransaction, type QueryResult } from 'kysely'
import { AsyncLocalStorage } from 'node:async_hooks'
import { metered, type StatementWatch } from './meter.ts'

/** A value bound to a `?` parameter. Dates and booleans are converted to the representation of each database. */
export type Value = string | number | boolean | Date | Uint8Array | null

/**
 * Runs plain SQL in the transaction of `em`, if it has one. Values are bound and the statement stays prepared; the ORM inlines values into the text.
 * The typed query builder of the ORM (`em.getKysely` with property names and converted values) was measured instead: 94 µs per statement on SQLite, not
 * 25, and its tables lose their names in the types unless those of all entities are literals.
 */
export async function readRows<Row extends object>(em: EntityManager, sql: string, values: readonly Value[]): Promise<Row[]> {
  return (await run<Row>(em, sql, values)).rows
}

/** Returns the first row of a query, or undefined. */
export async function readRow<Row extends object>(em: EntityManager, sql: string, values: readonly Value[]): Promise<Row | undefined> {
  return (await run<Row>(em, sql, values)).rows[0]
}

/**
 * Yields the rows of a large result in several queries of `batch` rows, in the order of their ids. `sql` selects `id` as its first column, by which it
 * is ordered, and ends with the condition `<id> > ?`. `values` are bound to the parameters before that.
 */
export async function* rowsById<Row extends { id: string }>(
  em: EntityManager,
  sql: string,
  { batch = 500, values = [] }: { batch?: number; values?: readonly string[] } = {},
): AsyncGenerator<Row> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const rows = await em.execute<Row[]>(`${sql} order by 1 limit ${batch}`, [...values, after])
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < batch) return
    after = last.id
  }
}

/** Runs a plain SQL statement that changes rows and returns the number of affected rows. */
export async function changeRows(em: EntityManager, sql: string, values: readonly Value[]): Promise<number> {
  return Number((await run(em, sql, values)).numAffectedRows ?? 0)
}

/** Inserts rows with the columns of the first one, in batches of 50, because databases limit the parameters of a statement. */
export async function insertRows(em: EntityManager, table: string, rows: readonly Readonly<Record<string, Value>>[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  const into = `insert into ${table} (${columns.map((column) => `"${column}"`).join(', ')}) values`
  const marks = `(${columns.map(() => '?').join(', ')})`
  for (let at = 0; at < rows.length; at += rowsPerStatement) {
    const some = rows.slice(at, at + rowsPerStatement)
    const values = some.flatMap((row) => columns.map((column) => row[column] ?? null))
    await run(em, `${into} ${some.map(() => marks).join(', ')}`, values)
  }
}

const rowsPerStatement = 50

/** Reports every plain SQL statement to `onQuery`, as the ORM does for its own statements, and runs it through `watch`. */
export function reportStatements(em: EntityManager, listeners: Listeners): void {
  if (listeners.onQuery || listeners.watch) listening.set(em.getDriver(), listeners)
}

type Listeners = { onQuery?: ((sql: string) => void) | undefined; watch?: StatementWatch | undefined }

/** By driver, because statements run with only an entity manager at hand. */
const listening = new WeakMap<object, Listeners>()

async function run<Row>(em: EntityManager, sql: string, values: readonly Value[]): Promise<QueryResult<Row>> {
  const transaction = em.getTransactionContext<ControlledTransaction<never>>()
  const isPostgres = em.getPlatform() instanceof BasePostgreSqlPlatform
  const query = isPostgres ? CompiledQuery.raw(numbered(sql), [...values]) : CompiledQuery.raw(sql, values.map(plain))
  const listeners = listening.get(em.getDriver())
  listeners?.onQuery?.(sql)
  try {
    const execute = () => (transaction ?? em.getConnection().getClient()).executeQuery<Row>(query)
    const { watch } = listeners ?? {}
    return await metered(watch ? () => watch(sql, execute) : execute, transaction !== undefined)
  } catch (error) {
    throw em.getDriver().convertException(error as Error)
  }
}

/** Converts a value for SQLite, which has no date or boolean type and stores a JavaScript number as an integer only if it is passed as a bigint. */
function plain(value: Value): string | number | bigint | Uint8Array | null {
  if (value instanceof Date) return BigInt(value.getTime())
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value
}

/** Returns a `LIKE` pattern that matches texts containing the lower-cased `text`. Use it with `like ? escape '!'`. */
export const containing = (text: string): string => containingAsTyped(text.toLowerCase())

/** Returns the same pattern as `containing`, but keeps the case of `text`. */
export const containingAsTyped = (text: string): string => `%${text.replace(/[!%_]/g, '!$&')}%`

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
