import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { CompiledQuery, type ControlledTransaction, type QueryResult } from 'kysely'
import { metered, type StatementWatch } from './meter.ts'
import { numbered } from './numbered.ts'

/** What a `?` may stand for. Each database keeps moments and truth values in its own way. */
export type Value = string | number | boolean | Date | Uint8Array | null

/**
 * Runs plain SQL where an entity is not needed, in the transaction of `em` if it has one, and gives the rows. The values are bound, and a
 * connection prepares the statement once: the ORM writes values into the text, and so has every statement planned anew.
 */
export async function readRows<Row extends object>(em: EntityManager, sql: string, values: readonly Value[]): Promise<Row[]> {
  return (await run<Row>(em, sql, values)).rows
}

/** The first row, or none. */
export async function readRow<Row extends object>(em: EntityManager, sql: string, values: readonly Value[]): Promise<Row | undefined> {
  return (await run<Row>(em, sql, values)).rows[0]
}

/** Changes rows in the same way; gives how many. */
export async function changeRows(em: EntityManager, sql: string, values: readonly Value[]): Promise<number> {
  return Number((await run(em, sql, values)).numAffectedRows ?? 0)
}

/**
 * Inserts rows, fifty by one statement: databases limit how many parameters a statement takes, and connections keep each form of it prepared.
 * Nothing happens without any. All have the columns of the first.
 */
export async function insertRows(em: EntityManager, table: string, rows: readonly Readonly<Record<string, Value>>[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  const into = `insert into ${table} (${columns.map((column) => `"${column}"`).join(', ')}) values`
  const marks = `(${columns.map(() => '?').join(', ')})`
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    const some = rows.slice(at, at + rowsAtOnce)
    const values = some.flatMap((row) => columns.map((column) => row[column] ?? null))
    await run(em, `${into} ${some.map(() => marks).join(', ')}`, values)
  }
}

const rowsAtOnce = 50

/** Tells `onQuery` of every statement that runs here, as the ORM does of its own, and has `watch` run it. */
export function reportStatements(em: EntityManager, listeners: Listeners): void {
  if (listeners.onQuery || listeners.watch) listening.set(em.getDriver(), listeners)
}

type Listeners = { onQuery?: ((sql: string) => void) | undefined; watch?: StatementWatch | undefined }

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

/** SQLite has no moments and no truth values, and takes a number for a whole one only as a bigint. */
function plain(value: Value): string | number | bigint | Uint8Array | null {
  if (value instanceof Date) return BigInt(value.getTime())
  if (typeof value === 'boolean') return value ? 1n : 0n
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value
}
