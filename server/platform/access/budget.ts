import { type Meter, withMeter } from '../db/meter.ts'
import { unavailable } from '../db/unavailable.ts'
import { type ApiError, budgetSpent } from '../../errors.ts'
import { isSliceOver, yieldToEventLoop } from '../threads/slices.ts'

/** Resource limits of one request. */
export type Allowance = {
  /** Time that the database may spend on the request, in milliseconds. */
  databaseMs: number
  /** Size of package texts that the request may read or render, in bytes. */
  textBytes: number
  /** Number of objects that the request may return in lists. */
  objects: number
  /** Total duration of the request, in milliseconds. */
  totalMs: number
}

export const queryAllowance: Allowance = { databaseMs: 5000, textBytes: 4 * 1024 ** 2, objects: 20_000, totalMs: 20_000 }

/** Number of concurrent statements per request, so that one request cannot take all connections. */
const maxConcurrent = 2

/** Number of fields between two checks of the elapsed time. */
const fieldsAtOnce = 256

/** Runs work of a request within the limits for database time and other resources. */
export async function withinBudget<Value>(caller: { budget?: Budget }, work: () => Value | Promise<Value>): Promise<Value> {
  const budget = new Budget()
  caller.budget = budget
  try {
    return await withMeter(budget, work)
  } finally {
    budget.close()
  }
}

/**
 * Runs work whose duration depends on stored data, such as deleting all versions of a package, without counting its time and statements toward the
 * limits of the request. The work must be rare and limited by permissions.
 */
export function withoutBudget<Value>({ budget }: { budget?: Budget }, work: () => Promise<Value>): Promise<Value> {
  return budget ? budget.uncounted(withMeter({ measure: (statement) => statement() }, work)) : work()
}

/** The remaining resources of a request. Once one of them is used up, all further work of the request fails. */
export class Budget implements Meter {
  readonly #allowance: Allowance
  readonly #left: Allowance
  readonly #ended = Promise.withResolvers<never>()
  #timer: NodeJS.Timeout
  readonly #waiting: (() => void)[] = []
  #leftMs: number
  #countedFrom = performance.now()
  #waits = 0
  #isClosed = false
  #running = 0
  #fields = 0
  #statements = 0
  #paused: Promise<void> | null = null
  #spent: ApiError | null = null

  /** Starts the clock for the total duration. */
  constructor(allowance: Allowance = queryAllowance) {
    this.#allowance = allowance
    this.#left = { ...allowance }
    this.#ended.promise.catch(() => {})
    this.#leftMs = allowance.totalMs
    this.#timer = this.#startClock()
  }

  /** The error that ends the request once a limit is exceeded, otherwise null. */
  get spent(): ApiError | null {
    return this.#spent
  }

  /** Database time and number of statements used by the request so far. */
  get databaseUse(): { ms: number; statements: number } {
    return { ms: this.#allowance.databaseMs - this.#left.databaseMs, statements: this.#statements }
  }

  get pause(): Promise<void> | null {
    return this.#paused
  }

  /** Checks the limits. @throws ApiError once a limit is exceeded. */
  check(): void {
    if (this.#spent) throw this.#spent
  }

  spendText(bytes: number): void {
    this.#spend('textBytes', bytes, 'text', `${this.#allowance.textBytes / 1024 ** 2} MiB`)
    this.check()
  }

  spendObjects(count: number): void {
    this.#spend('objects', count, 'objects', String(this.#allowance.objects))
    this.check()
  }

  /**
   * Counts a resolved field. After many fields, yields to other requests if the time slice is over. Returns null if there is no need to wait. Fields
   * that wait resume together, as a batch.
   */
  passField(): Promise<void> | null {
    return ++this.#fields % fieldsAtOnce === 0 || this.#paused ? this.pauseIfDue() : null
  }

  /** Waits for work in a queue shared with other requests, without counting the time. The work must end by itself. */
  async uncounted<Value>(work: Promise<Value>): Promise<Value> {
    if (this.#waits++ === 0) this.#stopClock()
    try {
      return await Promise.race([work, this.#ended.promise])
    } finally {
      if (--this.#waits === 0 && !this.#isClosed) this.#timer = this.#startClock()
    }
  }

  /**
   * Runs a statement when a slot is free, and counts its execution time. Statements in a transaction do not wait for a slot: others that hold slots
   * may be waiting for the transaction to end.
   */
  async measure<Value>(work: () => Promise<Value>, { inTransaction, waitedMs = () => 0 }: Parameters<Meter['measure']>[1]): Promise<Value> {
    this.check()
    if (!inTransaction) await this.#admit()
    const started = performance.now()
    let isAway = false
    try {
      this.check()
      this.#statements++
      return await work()
    } catch (error) {
      // The time during which the database is unavailable is not charged.
      isAway = unavailable(error) !== null
      throw error
    } finally {
      const spentMs = isAway ? 0 : performance.now() - started - waitedMs()
      this.#spend('databaseMs', spentMs, 'database time', `${this.#allowance.databaseMs / 1000} seconds`)
      if (!inTransaction) this.#release()
    }
  }

  /** Restarts the clock, since time spent waiting for other requests does not count. */
  restart(): void {
    clearTimeout(this.#timer)
    this.#leftMs = this.#allowance.totalMs
    this.#timer = this.#startClock()
  }

  /** Stops the clock at the end of the request. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #startClock(): NodeJS.Timeout {
    this.#countedFrom = performance.now()
    return setTimeout(() => this.#end('time', `${this.#allowance.totalMs / 1000} seconds`), this.#leftMs).unref()
  }

  #stopClock(): void {
    clearTimeout(this.#timer)
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#countedFrom))
  }

  #spend(part: keyof Allowance, amount: number, what: string, limit: string): void {
    this.#left[part] -= amount
    if (this.#left[part] < 0) this.#end(what, limit)
  }

  #end(what: string, limit: string): void {
    this.#spent ??= budgetSpent(what, limit)
    this.#ended.reject(this.#spent)
  }

  /** Yields to other requests if the time slice is over. All work of the request that waits resumes together, so that its batches stay whole. */
  pauseIfDue(): Promise<void> | null {
    // If a limit is exceeded during the pause, the next check reports it.
    const resume = () => void (this.#paused = null)
    if (isSliceOver()) this.#paused ??= this.uncounted(yieldToEventLoop()).then(resume, resume)
    return this.#paused
  }

  async #admit(): Promise<void> {
    if (this.#running >= maxConcurrent) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    await this.pauseIfDue()
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running--
  }
}
