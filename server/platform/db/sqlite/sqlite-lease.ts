import type { Database, Statement } from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { CompiledQuery, DatabaseConnection } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { unmetered } from '../meter.ts'
import { skipsSync } from '../statements.ts'
import { DatabaseAway } from '../unavailable.ts'
import type { WriteGuard } from '../location/moved.ts'
import type { SqliteResult } from './sqlite-rows.ts'

/** State shared by all leases: the connection, a function to reopen it, the lock, and the guard against moves. */
export type Shared = {
  native: () => Database
  renew: () => void
  mutex: Mutex
  guard: WriteGuard
  onWrite: () => void
  onTransaction: (isOpen: boolean) => void
}

/** Maximum time that a statement waits for another process that locks the file, and interval between attempts, in milliseconds. */
const busyMs = 1500
const retryMs = 20

/** The write connection while one caller holds it for a statement or a transaction. */
export class Lease implements DatabaseConnection {
  readonly #shared: Shared
  #isHeld = false
  #inTransaction = false

  constructor(shared: Shared) {
    this.#shared = shared
  }

  async acquire(): Promise<void> {
    await this.#shared.mutex.lock()
    this.#isHeld = true
  }

  release(): void {
    if (this.#isHeld) this.#shared.mutex.unlock()
    this.#isHeld = false
  }

  async begin(): Promise<void> {
    await this.#retryWhileLocked(() => this.#lock())
    this.#setInTransaction(true)
  }

  /** Locks the file immediately. A transaction that starts with a read could not be upgraded after another process wrote. */
  #lock(): void {
    const { native, guard } = this.#shared
    guard.beforeWrite()
    native().exec('begin immediate')
    try {
      guard.onLockAcquired()
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  commit(): void {
    this.run('commit')
    this.#setInTransaction(false)
  }

  rollback(): void {
    try {
      this.#undo()
    } finally {
      this.#setInTransaction(false)
    }
  }

  /** Rolls back the open transaction. Reopens the connection if the rollback fails. */
  #undo(): void {
    const { native, renew } = this.#shared
    // SQLite rolls back automatically after some errors, such as a full disk.
    if (!native().inTransaction) return
    try {
      native().exec('rollback')
    } catch (error) {
      if (native().inTransaction) renew()
      throw error
    }
  }

  #setInTransaction(isOpen: boolean): void {
    this.#inTransaction = isOpen
    this.#shared.onTransaction(isOpen)
  }

  /** Sets whether the following commits wait for a disk sync. New connections do. */
  #setSync(isForced: boolean): void {
    const native = this.#shared.native()
    if (isForced !== unsynced.has(native)) return
    native.pragma(`synchronous = ${isForced ? 'full' : 'normal'}`)
    if (isForced) unsynced.delete(native)
    else unsynced.add(native)
  }

  /** Runs a statement that must be inside the transaction. */
  run(sql: string): void {
    this.#requireTransaction()
    this.#shared.native().exec(sql)
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<SqliteResult<Row>> {
    if (this.#inTransaction) {
      this.#requireTransaction()
      return this.#execute<Row>(this.#prepare(sql, parameters), parameters)
    }
    return this.#retryWhileLocked(() => this.#executeAlone<Row>(sql, parameters))
  }

  streamQuery(): never {
    throw new Error('Rows are not streamed on SQLite.')
  }

  /** Runs a single statement. Writes take the lock and pass the guard, like transactions. */
  #executeAlone<Row>(sql: string, parameters: readonly unknown[]): SqliteResult<Row> {
    const native = this.#shared.native()
    const statement = this.#prepare(sql, parameters)
    if (statement.readonly) return this.#execute<Row>(statement, parameters)
    this.#lock()
    try {
      const result = this.#execute<Row>(statement, parameters)
      native.exec('commit')
      return result
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  #prepare(sql: string, parameters: readonly unknown[]): Statement {
    return prepare(this.#shared.native(), sql, parameters.length > 0)
  }

  #execute<Row>(statement: Statement, parameters: readonly unknown[]): SqliteResult<Row> {
    if (!statement.readonly) this.#shared.onWrite()
    if (statement.reader) return { rows: statement.all(...parameters) as Row[], columns: () => statement.columns() }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] }
  }

  /** Throws if SQLite has rolled back the transaction, so that the remaining statements are not written outside of it. */
  #requireTransaction(): void {
    if (!this.#shared.native().inTransaction) throw new DatabaseAway('SQLite has rolled the transaction back.')
  }

  /** Retries while another process locks the file. Releases the connection between attempts, so the sync mode is set again for each attempt. */
  async #retryWhileLocked<T>(work: () => T): Promise<T> {
    const deadline = performance.now() + busyMs
    const isForced = !skipsSync()
    for (;;) {
      try {
        this.#setSync(isForced)
        return work()
      } catch (error) {
        if (!isLockedError(error)) throw error
        this.#shared.guard.onLocked()
        if (performance.now() > deadline) throw error
      }
      this.release()
      await unmetered(async () => {
        await sleep(retryMs)
        await this.acquire()
      })
    }
  }
}

/**
 * Replaces parameters by subqueries: SQLite plans a statement again for each value of a bare parameter that it is compared with, which can take ten
 * times as long as running it.
 */
export const avoidReplanning = (sql: string): string => sql.replaceAll('= ?', '= (select ?)')

/** Returns a statement, from the cache if `isKept` is set. Statements of the ORM inline their values and are not reused. */
function prepare(native: Database, sql: string, isKept: boolean): Statement {
  if (!isKept) return native.prepare(sql)
  let kept = prepared.get(native)
  if (!kept) prepared.set(native, (kept = new LRUCache({ max: maxPrepared })))
  let statement = kept.get(sql)
  if (!statement) kept.set(sql, (statement = native.prepare(avoidReplanning(sql))))
  return statement
}

/** Connections whose commits currently do not wait for a disk sync. */
const unsynced = new WeakSet<Database>()

const prepared = new WeakMap<Database, LRUCache<string, Statement>>()
const maxPrepared = 200

/** Returns whether SQLite reports that the file is locked by another connection. */
export const isLockedError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^SQLITE_(?:BUSY|LOCKED)/.test(String(error.code))

export type Mutex = ReturnType<typeof createMutex>

/** Creates a FIFO mutex. `lock` resolves when the caller holds it. @throws DatabaseAway after `timeoutMs` milliseconds. */
export function createMutex(timeoutMs: number) {
  const waiting: (() => void)[] = []
  let locked = false
  return {
    async lock(): Promise<void> {
      if (!locked) {
        locked = true
        return
      }
      await new Promise<void>((resolve, reject) => {
        const begin = () => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(begin), 1)
          reject(new DatabaseAway(`The database's connection was in use for more than ${timeoutMs} ms.`))
        }, timeoutMs)
        waiting.push(begin)
      })
    },
    unlock(): void {
      const next = waiting.shift()
      if (next) next()
      else locked = false
    },
    /** Returns whether the lock is held, and the number of waiting callers. */
    state: () => ({ isLocked: locked, waiting: waiting.length }),
  }
}
