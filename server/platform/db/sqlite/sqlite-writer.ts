import type { Database } from 'better-sqlite3'
import { type Dialect, type Driver, type Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { unmetered } from '../meter.ts'
import type { PoolState } from '../options.ts'
import { type Shared, Lease, createMutex, type Mutex } from './sqlite-lease.ts'
import type { WriteGuard } from '../location/moved.ts'

/**
 * The single write connection to an SQLite file. Unlike Kysely's driver, it reopens the file if ROLLBACK fails, and retries without blocking the
 * event loop while another process locks the file.
 */
export class SqliteWriter implements Dialect {
  readonly #open: () => Database
  readonly #mutex: Mutex
  readonly #guard: WriteGuard
  #native: Database
  #isOpen = true
  #closed = false
  #endFirst: () => Promise<void> = async () => {}
  /** Number of statements that may have written. All writes of this process are counted. */
  written = 0
  /** Whether a transaction is open. Tracked here, because querying SQLite would dominate the cost of the hottest reads. */
  inTransaction = false

  /** `open` returns a configured connection, `lockMs` is the maximum wait for it in milliseconds, and `guard` may reject writes. */
  constructor(open: () => Database, lockMs: number, guard: WriteGuard) {
    this.#open = open
    this.#mutex = createMutex(lockMs)
    this.#guard = guard
    this.#native = open()
  }

  /** The current connection. It is not reopened after the driver is destroyed. */
  get native(): Database {
    if (!this.#isOpen && !this.#closed) this.#reopen()
    return this.#native
  }

  /** Returns the usage of the connection as a pool of size one. */
  pool(): PoolState {
    const { isLocked, waiting } = this.#mutex.state()
    return { pool: 'transactions', max: 1, open: 1, idle: isLocked ? 0 : 1, waiting }
  }

  /** Blocks writers while `work` runs, for at most `maxMs` milliseconds. Reads continue. */
  async pause(work: () => Promise<unknown>, maxMs: number): Promise<void> {
    await this.#mutex.lock()
    const enough = Promise.withResolvers<void>()
    const timer = setTimeout(() => enough.resolve(), maxMs)
    try {
      await Promise.race([work(), enough.promise])
    } finally {
      clearTimeout(timer)
      this.#mutex.unlock()
    }
  }

  /** Registers a callback that runs before the connection is closed, to stop other users of the file. */
  beforeClose(end: () => Promise<void>): void {
    this.#endFirst = end
  }

  createAdapter = () => new Adapter()
  createIntrospector = (db: Kysely<never>) => new SqliteIntrospector(db)
  createQueryCompiler = () => new SqliteQueryCompiler()

  createDriver(): Driver {
    const native = () => this.native
    const shared = {
      native,
      renew: () => this.#renew(),
      mutex: this.#mutex,
      guard: this.#guard,
      onWrite: () => void this.written++,
      onTransaction: (isOpen: boolean) => void (this.inTransaction = isOpen),
    }
    return driver(shared, async () => {
      await this.#endFirst()
      this.#closed = true
      this.#native.close()
    })
  }

  #renew(): void {
    try {
      this.#native.close()
    } finally {
      this.#isOpen = false
      if (!this.#closed) this.#reopen()
    }
  }

  #reopen(): void {
    this.#native = this.#open()
    this.#isOpen = true
  }
}

/** Disables Kysely's own mutex, which would stay locked while a statement waits for the file. SqliteWriter uses its own lock. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

function driver(shared: Shared, close: () => Promise<void>): Driver {
  return {
    init: async () => {},
    async acquireConnection() {
      const lease = new Lease(shared)
      await unmetered(() => lease.acquire())
      return lease
    },
    beginTransaction: (connection) => (connection as Lease).begin(),
    commitTransaction: async (connection) => (connection as Lease).commit(),
    rollbackTransaction: async (connection) => (connection as Lease).rollback(),
    savepoint: async (connection, name) => (connection as Lease).run(`savepoint ${quoteIdentifier(name)}`),
    rollbackToSavepoint: async (connection, name) => (connection as Lease).run(`rollback to ${quoteIdentifier(name)}`),
    releaseSavepoint: async (connection, name) => (connection as Lease).run(`release ${quoteIdentifier(name)}`),
    releaseConnection: async (connection) => (connection as Lease).release(),
    destroy: close,
  }
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`
