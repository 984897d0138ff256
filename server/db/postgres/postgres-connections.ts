import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, type CustomTypesConfig, Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg'
import { unmetered } from '../meter.ts'
import type { DatabaseConfig } from '../options.ts'
import type { PoolState } from '../pool-state.ts'
import type { PostgresWatch } from './postgres-watch.ts'
import { DatabaseAway, endsConnection, isOutOfConnections, patiently } from '../unavailable.ts'

type Options = { max: number; types?: CustomTypesConfig }

/** How long a pool without any connection tries for one when PostgreSQL has none to give. */
const noneMs = 800
/** For how long a pool is content with what it has when PostgreSQL had no more. */
const contentMs = 5000
/** What the server does not end itself, because it no longer hears us, is ended here so much later. */
const graceMs = 2000

/**
 * Connections to PostgreSQL that are waited for, connected and used within time-outs. When the database goes away, all that wait or are in the
 * middle of something hear of it at once, and the connections are thrown away.
 */
export class PostgresConnections {
  readonly watch: PostgresWatch
  readonly #makePool: () => Pool
  readonly #waitMs: number
  readonly #max: number
  readonly #waiting = new Set<(error: Error) => void>()
  readonly #unsubscribe: (() => void)[]
  /** Those that are open. */
  #clients = new Set<PoolClient>()
  #pool: Pool
  #content: NodeJS.Timeout | undefined
  /** Since when none is open and PostgreSQL has none to give. */
  #noneSince: number | null = null
  #trying: Promise<void> | null = null

  constructor(config: DatabaseConfig, watch: PostgresWatch, options: Options) {
    this.watch = watch
    this.#waitMs = config.DB_POOL_TIMEOUT_MS
    this.#max = options.max
    this.#makePool = () => this.#prepare(new Pool(poolOptions(config, watch.name, options)))
    this.#pool = this.#makePool()
    this.#unsubscribe = [watch.onAway(() => this.#abandon()), watch.onScarce(() => this.#share())]
  }

  /**
   * Opens a connection, of which the pool keeps one from now on.
   * @throws Error when PostgreSQL has none to give for a while, as a server has that is just being replaced.
   */
  async reserve(): Promise<void> {
    this.release(await patiently(() => this.acquire()), false)
  }

  /**
   * A connection, to be given back by `release`. When PostgreSQL has no more to give, one of those that this pool has is waited for.
   * @throws Error when there is none in time; see `unavailable`.
   */
  acquire(): Promise<PoolClient> {
    return unmetered(() => this.#acquire())
  }

  async #acquire(): Promise<PoolClient> {
    const started = performance.now()
    for (;;) {
      this.watch.requireHere()
      try {
        if (this.#noneSince !== null) await this.#tryOnce()
        return await this.#orAway(this.#pool)
      } catch (error) {
        if (!isOutOfConnections(error)) throw error
        const patienceMs = this.#beScarce(error as Error)
        if (performance.now() - started > patienceMs) throw error
      }
      await sleep(30 + Math.random() * 70)
    }
  }

  /** Runs one statement. */
  async query(statement: QueryConfig<unknown[]>): Promise<QueryResult<Record<string, unknown>>> {
    this.watch.requireFree(statement.text)
    const client = await this.acquire()
    let isUseless = false
    try {
      // The table may have been found locked while this waited.
      this.watch.requireFree(statement.text)
      return await client.query<Record<string, unknown>>(statement)
    } catch (error) {
      isUseless = endsConnection(error)
      throw error
    } finally {
      this.release(client, isUseless)
    }
  }

  /** Takes a connection back; one that is of no further use is not kept. */
  release(client: PoolClient, isUseless: boolean): void {
    client.release(isUseless || this.#clients.size > this.#pool.options.max)
  }

  /** How the connections are used. */
  state(pool: PoolState['pool']): PoolState {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { pool, max: this.#max, open: totalCount, idle: idleCount, waiting: waitingCount }
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    clearTimeout(this.#content)
    await this.#pool.end()
  }

  #prepare(pool: Pool): Pool {
    // Without listeners, a connection that ends would end the process. The pool replaces it, and its query fails.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', () => {})
      this.#clients.add(client)
      this.#noneSince = null
    })
    pool.on('remove', (client) => void this.#clients.delete(client))
    return pool
  }

  /** PostgreSQL has no more connections: whoever waits gets those that this pool has. */
  #makeDoWith(count: number): void {
    this.#pool.options.max = count
    clearTimeout(this.#content)
    this.#content = setTimeout(() => (this.#pool.options.max = this.#max), contentMs).unref()
  }

  /** PostgreSQL has no more to give. Gives how long it is worth to wait. */
  #beScarce(error: Error): number {
    const open = this.#clients.size
    this.#makeDoWith(Math.max(open, 1))
    if (open > 0) return this.#waitMs
    this.watch.announceScarcity()
    if (this.#noneSince === null) {
      this.#noneSince = performance.now()
      this.#renew(error)
    }
    return performance.now() - this.#noneSince > noneMs ? 0 : noneMs
  }

  /** All that wait while there is none share one attempt: PostgreSQL would be busy with refusing. */
  #tryOnce(): Promise<void> {
    this.#trying ??= this.#orAway(this.#pool)
      .then((client) => this.release(client, false))
      .finally(() => (this.#trying = null))
    return this.#trying
  }

  #refuseAll(reason: Error): void {
    for (const refuse of this.#waiting) refuse(reason)
  }

  /** Lets go of a connection, unless it is the only one, for a pool that has none. */
  #share(): void {
    const [pool, open] = [this.#pool, this.#clients.size]
    if (open < 2 || open > pool.options.max) return
    this.#makeDoWith(open - 1)
    if (pool.idleCount > 0)
      void pool.connect().then(
        (client) => client.release(true),
        () => {},
      )
  }

  #abandon(): void {
    const clients = this.#clients
    this.#clients = new Set()
    this.#renew(new DatabaseAway('PostgreSQL does not answer.'))
    // A client that waits for an answer is disconnected, and its query fails.
    for (const client of clients) void (client as unknown as Client).end().catch(() => {})
  }

  /** Begins anew without those that wait, who get the error. */
  #renew(reason: Error): void {
    const pool = this.#pool
    const { max } = pool.options
    this.#pool = this.#makePool()
    if (this.#noneSince !== null) this.#pool.options.max = max
    this.#refuseAll(reason)
    void pool.end().catch(() => {})
  }

  /** A connection, unless the database goes away first: what arrives later is for others, or thrown away with its pool. */
  #orAway(pool: Pool): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = () => {
        isOver = true
        this.#waiting.delete(refuse)
      }
      const refuse = (error: Error) => {
        end()
        reject(error)
      }
      this.#waiting.add(refuse)
      pool.connect().then((client) => (isOver ? client.release(pool !== this.#pool) : (end(), resolve(client))), refuse)
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
    // The pool's own time-out is for both waiting and connecting; connecting has a shorter one.
    connectionTimeoutMillis: config.DB_POOL_TIMEOUT_MS,
    Client: class extends Client {
      constructor(options?: ClientConfig) {
        super({ ...options, connectionTimeoutMillis: connectMs })
      }
    },
  }
}
