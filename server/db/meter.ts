import type { MikroORM } from '@mikro-orm/sql'
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
const waits = new AsyncLocalStorage<{ ms: number }>()

/** Has every statement of the work measured, wherever it comes from. */
export const withMeter = <Value>(meter: Meter, work: () => Value): Value => meters.run(meter, work)

/** Runs a statement, by way of the meter when there is one. */
export function metered<Value>(work: () => Promise<Value>, inTransaction = false): Promise<Value> {
  const meter = meters.getStore()
  if (!meter) return work()
  const waited = { ms: 0 }
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
    waited.ms += performance.now() - started
  }
}

/** Lets the ORM's statements be measured; a refusal by the meter reaches the caller as it is, not as an error of the database. */
export function meterStatements(orm: MikroORM): void {
  const driver = orm.em.getDriver()
  const convert = driver.convertException.bind(driver)
  Object.assign(driver, { convertException: (error: Error) => (error instanceof ApiError ? error : convert(error)) })
  const connection = orm.em.getConnection()
  const { execute } = connection
  connection.execute = ((...given: Parameters<typeof execute>) =>
    metered(() => execute.apply(connection, given), given[3] !== undefined)) as typeof execute
}
