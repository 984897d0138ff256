import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, type CustomTypesConfig, Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg'
import { unmetered } from '../meter.ts'
import type { DatabaseConfig, PoolState } from '../options.ts'
import type { PostgresWatch } from './postgres-watch.ts'
import { DatabaseAway, endsConnection, isOutOfConnections, retryAtStart } from '../unavailable.ts'

type Options = { max: number; types?: CustomTypesConfig }

/** Milliseconds for which a pool without open connections retries while PostgreSQL is out of connections. */
const noConnectionMs = 800
/** Milliseconds for which a pool stays at its current size after PostgreSQL was out of connections. */
const reducedMs = 5000
/** Milliseconds after the server-side statement timeout at which the client gives up, in case the server is unreachable. */
const graceMs = 2000

/**
 * A PostgreSQL connection pool with timeouts for acquiring, connecting and querying. When the database goes down, all pending calls fail at once and
 * the connections are discarded.
 *
 * Timeouts alone are not enough: statements that wait for a locked table until `lock_timeout` occupy all connections, and a pool that lost its
 * connections gets none while another pool holds all that PostgreSQL permits.
 */
export class PostgresConnections {
  readonly watch: PostgresWatch
  readonly #makePool: () => Pool
  readonly #waitMs: number
  readonly #max: number
  readonly #waiting = new Set<(error: Error) => void>()
  readonly #unsubscribe: (() => void)[]
  /** The open connections. */
  #clients = new Set<PoolClient>()
  #pool: Pool
  #restoreTimer: NodeJS.Timeout | undefined
  /** Time since which the pool has had no connection and PostgreSQL has rejected new ones. */
  #outSince: number | null = null
  #trying: Promise<void> | null = null

  constructor(config: DatabaseConfig, watch: PostgresWatch, options: Options) {
    this.watch = watch
    this.#waitMs = config.DB_POOL_TIMEOUT_MS
    this.#max = options.max
    this.#makePool = () => this.#prepare(new Pool(poolOptions(config, watch.name, options)))
    this.#pool = this.#makePool()
    this.#unsubscribe = [watch.onAway(() => this.#discardAll()), watch.onOutOfConnections(() => this.#closeOne())]
  }

  /**
   * Opens one connection, which the pool keeps.
   * @throws Error if PostgreSQL does not respond or is out of connections; see `retryAtStart`.
   */
  async reserve(): Promise<void> {
    this.release(await retryAtStart(() => this.acquire()), false)
  }

  /**
   * Acquires a connection, which the caller must pass to `release`. If PostgreSQL is out of connections, waits for one of this pool.
   * @throws Error on timeout; see `unavailable`.
   */
  acquire(): Promise<PoolClient> {
    return unmetered(() => this.#acquire())
  }

  async #acquire(): Promise<PoolClient> {
    const started = performance.now()
    for (;;) {
      this.watch.requireAvailable()
      try {
        if (this.#outSince !== null) await this.#attemptOnce()
        return await this.#connectOrFail(this.#pool)
      } catch (error) {
        if (!isOutOfConnections(error)) throw error
        const maxWaitMs = this.#onTooManyConnections(error as Error)
        if (performance.now() - started > maxWaitMs) throw error
      }
      await sleep(30 + Math.random() * 70)
    }
  }

  async query(statement: QueryConfig<unknown[]>): Promise<QueryResult<Record<string, unknown>>> {
    this.watch.requireUnlocked(statement.text)
    const client = await this.acquire()
    let mustClose = false
    try {
      // Check again: the table may have been locked during the wait for a connection.
      this.watch.requireUnlocked(statement.text)
      return await client.query<Record<string, unknown>>(statement)
    } catch (error) {
      mustClose = endsConnection(error)
      throw error
    } finally {
      this.release(client, mustClose)
    }
  }

  /** Returns a connection to the pool, or closes it if `mustClose` is set or the pool is above its limit. */
  release(client: PoolClient, mustClose: boolean): void {
    client.release(mustClose || this.#clients.size > this.#pool.options.max)
  }

  /** Returns the usage of the pool. */
  state(pool: PoolState['pool']): PoolState {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { pool, max: this.#max, open: totalCount, idle: idleCount, waiting: waitingCount }
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    clearTimeout(this.#restoreTimer)
    await this.#pool.end()
  }

  #prepare(pool: Pool): Pool {
    // Without error listeners, a lost connection would crash the process. The pool replaces the connection, and its query fails.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', () => {})
      this.#clients.add(client)
      this.#outSince = null
    })
    pool.on('remove', (client) => void this.#clients.delete(client))
    return pool
  }

  /** Limits the pool to its open connections for a while after PostgreSQL rejected a new one. */
  #shrinkTo(count: number): void {
    this.#pool.options.max = count
    clearTimeout(this.#restoreTimer)
    this.#restoreTimer = setTimeout(() => (this.#pool.options.max = this.#max), reducedMs).unref()
  }

  /** Handles a connection rejected by PostgreSQL's limit. Returns how long the caller should keep waiting, in milliseconds. */
  #onTooManyConnections(error: Error): number {
    const open = this.#clients.size
    this.#shrinkTo(Math.max(open, 1))
    if (open > 0) return this.#waitMs
    this.watch.announceOutOfConnections()
    if (this.#outSince === null) {
      this.#outSince = performance.now()
      this.#replacePool(error)
    }
    return performance.now() - this.#outSince > noConnectionMs ? 0 : noConnectionMs
  }

  /** Shares one connection attempt among all waiting callers, so that PostgreSQL is not flooded with rejected ones. */
  #attemptOnce(): Promise<void> {
    this.#trying ??= this.#connectOrFail(this.#pool)
      .then((client) => this.release(client, false))
      .finally(() => (this.#trying = null))
    return this.#trying
  }

  #rejectWaiting(reason: Error): void {
    for (const fail of this.#waiting) fail(reason)
  }

  /** Closes one connection, unless it is the only one, so that a pool without connections can open one. */
  #closeOne(): void {
    const [pool, open] = [this.#pool, this.#clients.size]
    if (open < 2 || open > pool.options.max) return
    this.#shrinkTo(open - 1)
    if (pool.idleCount > 0)
      void pool.connect().then(
        (client) => client.release(true),
        () => {},
      )
  }

  #discardAll(): void {
    const clients = this.#clients
    this.#clients = new Set()
    this.#replacePool(new DatabaseAway('PostgreSQL does not answer.'))
    // Disconnect the clients. Their pending queries fail.
    for (const client of clients) void (client as unknown as Client).end().catch(() => {})
  }

  /** Replaces the pool. Callers that wait for a connection receive the error. */
  #replacePool(reason: Error): void {
    const pool = this.#pool
    const { max } = pool.options
    this.#pool = this.#makePool()
    if (this.#outSince !== null) this.#pool.options.max = max
    this.#rejectWaiting(reason)
    void pool.end().catch(() => {})
  }

  /**
   * Acquires a connection, or rejects if the database goes down first. A connection that arrives too late is returned to the pool, or closed with it.
   */
  #connectOrFail(pool: Pool): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = () => {
        isOver = true
        this.#waiting.delete(fail)
      }
      const fail = (error: Error) => {
        end()
        reject(error)
      }
      this.#waiting.add(fail)
      pool.connect().then((client) => (isOver ? client.release(pool !== this.#pool) : (end(), resolve(client))), fail)
    })
  }
}

function poolOptions(config: DatabaseConfig, name: string, { max, types }: Options) {
  const connectMs = config.DB_CONNECT_TIMEOUT_MS
  return {
    connectionString: config.POSTGRES_URL,
    application_name: name,
    min: 1,
    max,
    ...(types && { types }),
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: config.DB_STATEMENT_TIMEOUT_MS,
    query_timeout: config.DB_STATEMENT_TIMEOUT_MS + graceMs,
    lock_timeout: config.DB_LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: config.DB_IDLE_TRANSACTION_TIMEOUT_MS,
    // The timeout of the pool covers waiting and connecting together; connecting has its own shorter timeout.
    connectionTimeoutMillis: config.DB_POOL_TIMEOUT_MS,
    Client: class extends Client {
      constructor(options?: ClientConfig) {
        super({ ...options, connectionTimeoutMillis: connectMs })
      }
    },
  }
}
