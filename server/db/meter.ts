import { RawQueryFragment } from '@mikro-orm/core'
import { type MikroORM, NativeQueryBuilder } from '@mikro-orm/sql'
import { AsyncLocalStorage } from 'node:async_hooks'
import { ApiError } from '../errors.ts'

/** What measures the statements of some work, and may hold them back or refuse them. */
export type Meter = { measure<Value>(work: () => Promise<Value>, options: Measured): Promise<Value> }

type Measured = {
  inTransaction: boolean
  /** For how long the statement waited so far before it was executed. */
  waitedMs?: () => number
}

const meters = new AsyncLocalStorage<Meter>()
const waits = new AsyncLocalStorage<Waited>()

/** How long was waited for a connection or a turn, also on behalf of what measures around it. */
type Waited = { ms: number; around: Waited | undefined }

/** Has every statement of the work measured, wherever it comes from. */
export const withMeter = <Value>(meter: Meter, work: () => Value): Value => meters.run(meter, work)

/** Runs a statement, by way of the meter when there is one. */
export function metered<Value>(work: () => Promise<Value>, inTransaction = false): Promise<Value> {
  const meter = meters.getStore()
  if (!meter) return work()
  const waited = { ms: 0, around: waits.getStore() }
  return meter.measure(() => waits.run(waited, work), { inTransaction, waitedMs: () => waited.ms })
}

/** Waits for a connection or a turn, which is no work that the database does for the statement. */
export async function unmetered<Value>(wait: () => Promise<Value>): Promise<Value> {
  const waited = waits.getStore()
  if (!waited) return wait()
  const started = performance.now()
  try {
    return await wait()
  } finally {
    const ms = performance.now() - started
    for (let one: Waited | undefined = waited; one; one = one.around) one.ms += ms
  }
}

/** Does some work and tells how long it took, without what it waited for a connection or a turn. */
export async function timed<Value>(work: () => Promise<Value>, tell: (ms: number) => void): Promise<Value> {
  const waited = { ms: 0, around: waits.getStore() }
  const started = performance.now()
  try {
    return await waits.run(waited, work)
  } finally {
    tell(performance.now() - started - waited.ms)
  }
}

/** Runs a statement, whose text it gets, and may take note of it. */
export type StatementWatch = <Value>(sql: string, work: () => Promise<Value>) => Promise<Value>

/** Lets the ORM's statements be measured; a refusal by the meter reaches the caller as it is, not as an error of the database. */
export function meterStatements(orm: MikroORM, watch?: StatementWatch): void {
  const driver = orm.em.getDriver()
  const convert = driver.convertException.bind(driver)
  Object.assign(driver, { convertException: (error: Error) => (error instanceof ApiError ? error : convert(error)) })
  const connection = orm.em.getConnection()
  const { execute } = connection
  connection.execute = ((...given: Parameters<typeof execute>) => {
    const run = () => execute.apply(connection, given)
    return metered(watch ? () => watch(textOf(given[0]), run) : run, given[3] !== undefined)
  }) as typeof execute
}

/** The text of a statement of the ORM, with a mark for each value. */
const textOf = (query: unknown): string =>
  typeof query === 'string'
    ? query
    : query instanceof RawQueryFragment
      ? query.sql
      : query instanceof NativeQueryBuilder
        ? query.compile().sql
        : ''
