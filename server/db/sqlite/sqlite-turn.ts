import type { Database, Statement } from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { unmetered } from '../meter.ts'
import type { Turns } from '../turns.ts'
import { isUnforced } from './unforced.ts'
import { DatabaseAway } from '../unavailable.ts'
import type { WriteGuard } from '../location/write-guard.ts'

/** What all turns share: the connection, how to open it anew, and whose turn it is. */
export type Shared = {
  native: () => Database
  renew: () => void
  turns: Turns
  guard: WriteGuard
  onWrite: () => void
  onTransaction: (isOpen: boolean) => void
}

/** How long a statement waits for another process that holds the file, and how often it looks. */
const busyMs = 1500
const retryMs = 20

/** The connection while one user has it: for a statement or a transaction. */
export class Turn implements DatabaseConnection {
  readonly #shared: Shared
  #isMine = false
  #inTransaction = false

  constructor(shared: Shared) {
    this.#shared = shared
  }

  async take(): Promise<void> {
    await this.#shared.turns.take()
    this.#isMine = true
  }

  give(): void {
    if (this.#isMine) this.#shared.turns.give()
    this.#isMine = false
  }

  async begin(): Promise<void> {
    await this.#whenFree(() => this.#lock())
    this.#setInTransaction(true)
  }

  /** Locks at once: a transaction that reads first could not be upgraded after another process wrote. */
  #lock(): void {
    const { native, guard } = this.#shared
    guard.begin()
    native().exec('begin immediate')
    try {
      guard.whenMine()
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

  /** Rolls back what is begun; a connection that cannot is opened anew. */
  #undo(): void {
    const { native, renew } = this.#shared
    // SQLite itself rolls back after some errors, such as a full disk.
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

  /** Whether the commits that follow wait for the disk. The connection is opened so that they do. */
  #force(isForced: boolean): void {
    const native = this.#shared.native()
    if (isForced !== unforcedNow.has(native)) return
    native.pragma(`synchronous = ${isForced ? 'full' : 'normal'}`)
    if (isForced) unforcedNow.delete(native)
    else unforcedNow.add(native)
  }

  /** Runs a statement that belongs into the transaction. */
  run(sql: string): void {
    this.#requireTransaction()
    this.#shared.native().exec(sql)
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#inTransaction) {
      this.#requireTransaction()
      return this.#execute<Row>(this.#prepare(sql, parameters), parameters)
    }
    return this.#whenFree(() => this.#executeAlone<Row>(sql, parameters))
  }

  streamQuery(): never {
    throw new Error('Rows are not streamed on SQLite.')
  }

  /** What writes is looked at with the lock, as every transaction is. */
  #executeAlone<Row>(sql: string, parameters: readonly unknown[]): QueryResult<Row> {
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

  #execute<Row>(statement: Statement, parameters: readonly unknown[]): QueryResult<Row> {
    if (!statement.readonly) this.#shared.onWrite()
    if (statement.reader) return { rows: statement.all(...parameters) as Row[] }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] }
  }

  /** What follows in a transaction that SQLite has rolled back must not be written outside of it. */
  #requireTransaction(): void {
    if (!this.#shared.native().inTransaction) throw new DatabaseAway('SQLite has rolled the transaction back.')
  }

  /** Tries for a while when another process holds the file. The turn is given away meanwhile, to whom the disk may matter less, or more. */
  async #whenFree<T>(work: () => T): Promise<T> {
    const deadline = performance.now() + busyMs
    const isForced = !isUnforced()
    for (;;) {
      try {
        this.#force(isForced)
        return work()
      } catch (error) {
        if (!isBusy(error)) throw error
        this.#shared.guard.whenLocked()
        if (performance.now() > deadline) throw error
      }
      this.give()
      await unmetered(async () => {
        await sleep(retryMs)
        await this.take()
      })
    }
  }
}

/** The prepared statements of a connection that take parameters; those of the ORM, which have their values in the text, are used once. */
function prepare(native: Database, sql: string, isKept: boolean): Statement {
  if (!isKept) return native.prepare(sql)
  let kept = prepared.get(native)
  if (!kept) prepared.set(native, (kept = new LRUCache({ max: maxPrepared })))
  let statement = kept.get(sql)
  if (!statement) kept.set(sql, (statement = native.prepare(sql)))
  return statement
}

/** Connections whose commits do not wait for the disk as they are set now. */
const unforcedNow = new WeakSet<Database>()

const prepared = new WeakMap<Database, LRUCache<string, Statement>>()
const maxPrepared = 200

/** Whether SQLite says that somebody else holds the file. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^SQLITE_(?:BUSY|LOCKED)/.test(String(error.code))
