import { RawQueryFragment } from '@mikro-orm/core'
import { type MikroORM, NativeQueryBuilder } from '@mikro-orm/sql'
import { AsyncLocalStorage } from 'node:async_hooks'
import { ApiError } from '../../errors.ts'

/** Measures the statements of a unit of work. May delay or reject them. */
export type Meter = {
  measure<Value>(work: () => Promise<Value>, options: MeasureOptions): Promise<Value>
  /** Ends when the unit of work resumes, if it has paused for others. */
  readonly pause?: Promise<void> | null
}

type MeasureOptions = {
  inTransaction: boolean
  /** Returns the milliseconds that the statement has waited for a connection or lock so far. */
  waitedMs?: () => number
}

const meters = new AsyncLocalStorage<Meter>()
const waits = new AsyncLocalStorage<WaitTime>()

/** Time spent waiting for a connection or the writer lock. It is added to all enclosing measurements. */
type WaitTime = { ms: number; around: WaitTime | undefined }

/** Runs `work` and measures every database statement that it executes. */
export const withMeter = <Value>(meter: Meter, work: () => Value): Value => meters.run(meter, work)

/** Runs a statement through the current meter, if there is one. */
export function metered<Value>(work: () => Promise<Value>, inTransaction = false): Promise<Value> {
  const meter = meters.getStore()
  if (!meter) return work()
  const waited = { ms: 0, around: waits.getStore() }
  return meter.measure(() => waits.run(waited, work), { inTransaction, waitedMs: () => waited.ms })
}

/** Returns the pause of the current unit of work, or null if it does not pause. */
export const currentPause = (): Promise<void> | null => meters.getStore()?.pause ?? null

/** Waits for a connection or the writer lock. The wait is excluded from the measured statement time. */
export async function unmetered<Value>(wait: () => Promise<Value>): Promise<Value> {
  const waited = waits.getStore()
  if (!waited) return wait()
  const started = performance.now()
  try {
    return await wait()
  } finally {
    const ms = performance.now() - started
    for (let one: WaitTime | undefined = waited; one; one = one.around) one.ms += ms
  }
}

/** Runs `work` and reports its duration in milliseconds, excluding waits for a connection or the writer lock. */
export async function timed<Value>(work: () => Promise<Value>, report: (ms: number) => void): Promise<Value> {
  const waited = { ms: 0, around: waits.getStore() }
  const started = performance.now()
  try {
    return await waits.run(waited, work)
  } finally {
    report(performance.now() - started - waited.ms)
  }
}

/** Runs a statement and may record its text and duration. */
export type StatementWatch = <Value>(sql: string, work: () => Promise<Value>) => Promise<Value>

/**
 * Changes the ORM so that each of its statements runs through the meter of the current request and through `watch`. An ApiError of the meter reaches
 * the caller unchanged, instead of being wrapped as a database error.
 */
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

/** Returns the SQL text of an ORM query, with placeholders instead of values. */
const textOf = (query: unknown): string =>
  typeof query === 'string'
    ? query
    : query instanceof RawQueryFragment
      ? query.sql
      : query instanceof NativeQueryBuilder
        ? query.compile().sql
        : ''
