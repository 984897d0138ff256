import type { MikroORM } from '@mikro-orm/sql'
import { AsyncLocalStorage } from 'node:async_hooks'

/** What measures the statements of some work, and may hold them back or refuse them. */
export type Meter = { measure<Value>(work: () => Promise<Value>, options: { inTransaction: boolean }): Promise<Value> }

const meters = new AsyncLocalStorage<Meter>()

/** Has every statement of the work measured, wherever it comes from. */
export const withMeter = <Value>(meter: Meter, work: () => Value): Value => meters.run(meter, work)

/** Runs a statement, by way of the meter when there is one. */
export function metered<Value>(work: () => Promise<Value>, inTransaction = false): Promise<Value> {
  const meter = meters.getStore()
  return meter ? meter.measure(work, { inTransaction }) : work()
}

/** Lets the ORM's statements be measured. */
export function meterStatements(orm: MikroORM): void {
  const connection = orm.em.getConnection()
  const { execute } = connection
  connection.execute = ((...given: Parameters<typeof execute>) =>
    metered(() => execute.apply(connection, given), given[3] !== undefined)) as typeof execute
}
