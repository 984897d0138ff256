import type { Database } from 'better-sqlite3'
import { type Dialect, type Driver, type Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { unmetered } from '../meter.ts'
import type { PoolState } from '../pool-state.ts'
import { type Shared, Turn } from './sqlite-turn.ts'
import { openTurns, type Turns } from '../turns.ts'
import type { WriteGuard } from '../location/write-guard.ts'

/**
 * The one connection that writes to an SQLite file. Kysely's own driver leaves it inside a transaction whose ROLLBACK failed, and blocks the
 * event loop while another process holds the file. This one opens the file anew when it must, and lets others go on between two tries.
 */
export class SqliteWriter implements Dialect {
  readonly #open: () => Database
  readonly #turns: Turns
  readonly #guard: WriteGuard
  #native: Database
  #closed = false
  #endFirst: () => Promise<void> = async () => {}
  /** How many statements have written, or may have: every one of them goes through here. */
  written = 0
  /** Whether a transaction is open: kept here, since asking SQLite would cost the most frequent reads more than all else that they do. */
  inTransaction = false

  /** `open` gives a connection that is ready for use; nobody waits for a turn on it longer than `turnMs`; `guard` may refuse what writes. */
  constructor(open: () => Database, turnMs: number, guard: WriteGuard) {
    this.#open = open
    this.#turns = openTurns(turnMs)
    this.#guard = guard
    this.#native = open()
  }

  /** The connection as it is now; it stays closed once the driver is destroyed, whatever is still under way. */
  get native(): Database {
    if (!this.#native.open && !this.#closed) this.#native = this.#open()
    return this.#native
  }

  /** The one connection, as a pool of one. */
  pool(): PoolState {
    const { isTaken, waiting } = this.#turns.state()
    return { pool: 'transactions', max: 1, open: 1, idle: isTaken ? 0 : 1, waiting }
  }

  /** Has everybody who wants to write wait while the work lasts, but no longer than `maxMs`. Reads go on. */
  async pause(work: () => Promise<unknown>, maxMs: number): Promise<void> {
    await this.#turns.take()
    const enough = Promise.withResolvers<void>()
    const timer = setTimeout(() => enough.resolve(), maxMs)
    try {
      await Promise.race([work(), enough.promise])
    } finally {
      clearTimeout(timer)
      this.#turns.give()
    }
  }

  /** Has something that works on the file beside this connection end before the connection is closed. */
  beforeClose(end: () => Promise<void>): void {
    this.#endFirst = end
  }

  createAdapter(): SqliteAdapter {
    return new Adapter()
  }

  createDriver(): Driver {
    const native = () => this.native
    const shared = {
      native,
      renew: () => this.#renew(),
      turns: this.#turns,
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

  createIntrospector(db: Kysely<never>): SqliteIntrospector {
    return new SqliteIntrospector(db)
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler()
  }

  #renew(): void {
    try {
      this.#native.close()
    } finally {
      if (!this.#closed) this.#native = this.#open()
    }
  }
}

/** Kysely would keep its own turn while a statement waits for the file, so turns are taken here. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

function driver(shared: Shared, close: () => Promise<void>): Driver {
  return {
    init: async () => {},
    async acquireConnection() {
      const turn = new Turn(shared)
      await unmetered(() => turn.take())
      return turn
    },
    beginTransaction: (connection) => (connection as Turn).begin(),
    commitTransaction: async (connection) => (connection as Turn).commit(),
    rollbackTransaction: async (connection) => (connection as Turn).rollback(),
    savepoint: async (connection, name) => (connection as Turn).run(`savepoint ${quoted(name)}`),
    rollbackToSavepoint: async (connection, name) => (connection as Turn).run(`rollback to ${quoted(name)}`),
    releaseSavepoint: async (connection, name) => (connection as Turn).run(`release ${quoted(name)}`),
    releaseConnection: async (connection) => (connection as Turn).give(),
    destroy: close,
  }
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
