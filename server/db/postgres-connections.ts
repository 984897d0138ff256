import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, type CustomTypesConfig, Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg'
import type { DatabaseConfig } from './options.ts'
import type { PostgresWatch } from './postgres-watch.ts'
import { DatabaseAway, endsConnection, isOutOfConnections } from './unavailable.ts'

type Options = {
  max: number
  types?: CustomTypesConfig
  /** The pools of this process, which share what PostgreSQL has. */ all: Set<PostgresConnections>
}

/** How long a pool without any connection tries for one when PostgreSQL has none to give. */
const noneMs = 1200
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
  readonly #all: Set<PostgresConnections>
  readonly #waiting = new Set<(error: Error) => void>()
  readonly #unsubscribe: () => void
  #clients = new Set<PoolClient>()
  #pool: Pool
  #content: NodeJS.Timeout | undefined

  constructor(config: DatabaseConfig, watch: PostgresWatch, options: Options) {
    this.watch = watch
    this.#waitMs = config.DB_POOL_TIMEOUT_MS
    this.#max = options.max
    this.#all = options.all.add(this)
    this.#makePool = () => this.#prepare(new Pool(poolOptions(config, watch.name, options)))
    this.#pool = this.#makePool()
    this.#unsubscribe = watch.onAway(() => this.#abandon())
  }

  /**
   * A connection, to be given back by `release`.
   * @throws Error when there is none in time; see `unavailable`.
   */
  async acquire(): Promise<PoolClient> {
    const started = performance.now()
    for (;;) {
      this.watch.requireHere()
      const pool = this.#pool
      try {
        return await this.#orAway(pool.connect())
      } catch (error) {
        const patience = pool.totalCount > 0 ? this.#waitMs : noneMs
        if (!isOutOfConnections(error) || performance.now() - started > patience) throw error
        if (pool.totalCount > 0) this.#makeDoWith(pool.totalCount)
        else for (const other of this.#all) other.#share()
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
    client.release(isUseless || this.#pool.totalCount > this.#pool.options.max)
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    clearTimeout(this.#content)
    this.#all.delete(this)
    await this.#pool.end()
  }

  #prepare(pool: Pool): Pool {
    // Without listeners, a connection that ends would end the process. The pool replaces it, and its query fails.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', () => {})
      this.#clients.add(client)
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

  /** Lets go of a connection, unless it is the only one, for a pool that has none. */
  #share(): void {
    const pool = this.#pool
    if (pool.totalCount < 2 || pool.totalCount > pool.options.max) return
    this.#makeDoWith(pool.totalCount - 1)
    if (pool.idleCount > 0)
      void pool.connect().then(
        (client) => client.release(true),
        () => {},
      )
  }

  #abandon(): void {
    const [pool, clients] = [this.#pool, this.#clients]
    this.#clients = new Set()
    this.#pool = this.#makePool()
    for (const refuse of this.#waiting) refuse(new DatabaseAway('PostgreSQL does not answer.'))
    // A client that waits for an answer is disconnected, and its query fails.
    for (const client of clients) void (client as unknown as Client).end().catch(() => {})
    void pool.end().catch(() => {})
  }

  /** The connection, unless the database goes away first: what arrives later is thrown away. */
  #orAway(connecting: Promise<PoolClient>): Promise<PoolClient> {
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
      connecting.then((client) => (isOver ? client.release(true) : (end(), resolve(client))), refuse)
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
