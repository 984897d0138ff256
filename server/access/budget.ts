import { type Meter, withMeter } from '../db/meter.ts'
import { unavailable } from '../db/unavailable.ts'
import { type ApiError, budgetSpent } from '../errors.ts'
import { isSliceOver, nextSlice } from '../threads/slices.ts'

/** What one request may take. */
export type Allowance = {
  /** Time that the database works for it, in milliseconds. */
  databaseMs: number
  /** Texts of packages that it reads or renders, in bytes. */
  textBytes: number
  /** Objects that it gets in lists. */
  objects: number
  /** Time from beginning to end, in milliseconds. */
  totalMs: number
}

export const queryAllowance: Allowance = { databaseMs: 5000, textBytes: 4 * 1024 ** 2, objects: 20_000, totalMs: 20_000 }

/** Statements that a request runs at a time: more would take every connection from the others. */
const maxConcurrent = 2

/** So many fields are resolved before a look at the clock: a pause splits what would be loaded together. */
const fieldsAtOnce = 256

/** Has some work of a request take no more than one may, of the database's time and everything else. */
export async function withinBudget<Value>(caller: { budget?: Budget }, work: () => Value | Promise<Value>): Promise<Value> {
  const budget = new Budget()
  caller.budget = budget
  try {
    return await withMeter(budget, work)
  } finally {
    budget.close()
  }
}

/** What is left of an allowance. Once any part of it is spent, nothing more is done for the request. */
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

  /** Its time begins now. */
  constructor(allowance: Allowance = queryAllowance) {
    this.#allowance = allowance
    this.#left = { ...allowance }
    this.#ended.promise.catch(() => {})
    this.#leftMs = allowance.totalMs
    this.#timer = this.#startClock()
  }

  /** Why nothing more is done, or null. */
  get spent(): ApiError | null {
    return this.#spent
  }

  /** What the database did for it so far. */
  get databaseUse(): { ms: number; statements: number } {
    return { ms: this.#allowance.databaseMs - this.#left.databaseMs, statements: this.#statements }
  }

  /** Throws when it is spent. */
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

  /** Counts a field. Lets others in when there were many and they took long; null when it may go on. What waits goes on together, as a batch. */
  passField(): Promise<void> | null {
    return ++this.#fields % fieldsAtOnce === 0 || this.#paused ? this.#pause() : null
  }

  /** Waits for work that stands behind that of others, so its time does not count. It has to end by itself. */
  async uncounted<Value>(work: Promise<Value>): Promise<Value> {
    if (this.#waits++ === 0) this.#stopClock()
    try {
      return await Promise.race([work, this.#ended.promise])
    } finally {
      if (--this.#waits === 0 && !this.#isClosed) this.#timer = this.#startClock()
    }
  }

  /**
   * Runs a statement, when it is its turn, and counts the time that it is executed. What runs within a transaction must not wait for what waits
   * for the transaction's end.
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
      // The time that a database is away is nobody's fault.
      isAway = unavailable(error) !== null
      throw error
    } finally {
      const spentMs = isAway ? 0 : performance.now() - started - waitedMs()
      this.#spend('databaseMs', spentMs, 'database time', `${this.#allowance.databaseMs / 1000} seconds`)
      if (!inTransaction) this.#release()
    }
  }

  /** Its time begins anew: what it waited for others does not count. */
  restart(): void {
    clearTimeout(this.#timer)
    this.#leftMs = this.#allowance.totalMs
    this.#timer = this.#startClock()
  }

  /** Ends the clock. */
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

  #pause(): Promise<void> | null {
    // One that was spent meanwhile goes on to the next check.
    const resume = () => void (this.#paused = null)
    if (isSliceOver()) this.#paused ??= this.uncounted(nextSlice()).then(resume, resume)
    return this.#paused
  }

  async #admit(): Promise<void> {
    if (this.#running >= maxConcurrent) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    await this.#pause()
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running--
  }
}
