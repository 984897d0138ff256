import { randomBytes } from 'node:crypto'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { z } from 'zod'
import type { DatabaseConfig } from '../options.ts'
import { DatabaseAway, isOutOfConnections, retryAtStart, TableLocked } from '../unavailable.ts'

/** Interval between health checks, in milliseconds. */
const checkIntervalMs = 500

/** Regular expression for the application names of all server connections. */
export const nameOfServers = '^snug [0-9a-f]{8}( watch)?$'
/** Regular expression for the application name of the monitoring connection that each server keeps open. */
export const nameOfWatches = '^snug [0-9a-f]{8} watch$'

/**
 * Monitors PostgreSQL twice a second on its own connection: its time, whether it responds, and whether tables are locked exclusively. Requests then
 * fail fast during an outage instead of waiting for a timeout, and statements that wait for a locked table do not exhaust the connection pool.
 */
export class PostgresWatch {
  /** Application name of this process's connections, which distinguishes them from those of other servers. */
  readonly name: string
  readonly #url: string
  /** Timeout of a check, in milliseconds. */
  readonly #timeoutMs: number
  readonly #listeners = new Set<() => void>()
  readonly #poolListeners = new Set<() => void>()
  readonly #stopping = new AbortController()
  #client: Client | null = null
  /** The cause of an outage, or null while the database responds. */
  #away: { cause: unknown } | null = null
  #locked: ReadonlySet<string> = new Set()
  #lastCheck: CheckResult = { now: 0, locked: [], waiting: [] }
  /** Offset of the database time from this process's monotonic clock, in milliseconds. */
  #offsetMs = Number.NaN
  #ended: Promise<void> = Promise.resolve()

  private constructor({ POSTGRES_URL = '', DB_CONNECT_TIMEOUT_MS }: DatabaseConfig) {
    this.#url = POSTGRES_URL
    this.#timeoutMs = Math.max(DB_CONNECT_TIMEOUT_MS - checkIntervalMs, checkIntervalMs)
    this.name = `snug ${randomBytes(4).toString('hex')}`
  }

  /**
   * Starts monitoring. Statements of connections with the same application name are cancelled if they wait for a locked table. An outage is noticed
   * within DB_CONNECT_TIMEOUT_MS, or within a second if that is shorter.
   * @throws Error if the database does not respond; see `retryAtStart`.
   */
  static async open(config: DatabaseConfig): Promise<PostgresWatch> {
    const watch = new PostgresWatch(config)
    await retryAtStart(() => watch.#check())
    watch.#ended = watch.#keepChecking()
    return watch
  }

  /** Returns the database time, which is independent of the clocks of the server machines. */
  readonly now = (): Date => new Date(performance.now() + this.#offsetMs)

  /** @throws DatabaseAway while the database does not respond. */
  requireAvailable(): void {
    if (this.#away) throw new DatabaseAway('PostgreSQL does not answer.', this.#away)
  }

  /** @throws TableLocked if the statement uses a table that another session keeps locked. */
  requireUnlocked(sql: string): void {
    if (this.#locked.size === 0) return
    for (const [, table = ''] of sql.matchAll(tableNames)) {
      if (this.#locked.has(table)) throw new TableLocked(`The table ${table} is locked.`)
    }
  }

  /** Calls `listener` whenever the database stops responding. Returns a function that unsubscribes. */
  onAway(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Calls `listener` whenever a pool has no connection and PostgreSQL is out of connections. Returns a function that unsubscribes. */
  onOutOfConnections(listener: () => void): () => void {
    this.#poolListeners.add(listener)
    return () => void this.#poolListeners.delete(listener)
  }

  /** Asks pools with several connections to close one. */
  announceOutOfConnections(): void {
    for (const share of this.#poolListeners) share()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
    await this.#client?.end()
  }

  async #keepChecking(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await sleep(checkIntervalMs, undefined, { ref: false, signal }).catch(() => {})
      if (!signal.aborted) await this.#checkAgain()
    }
  }

  /**
   * Runs a check. If the connection was lost, reconnects once before reporting an outage, because a terminated connection does not mean that the
   * database is down.
   */
  async #checkAgain(): Promise<void> {
    for (const attempt of ['with the connection there is', 'with a new one']) {
      const isLast = attempt === 'with a new one' || !this.#client
      try {
        await this.#check()
        this.#away = null
        return
      } catch (error) {
        this.#client?.end().catch(() => {})
        this.#client = null
        if (isOutOfConnections(error)) this.announceOutOfConnections()
        if (error instanceof DatabaseAway || (isLast && !isOutOfConnections(error))) this.#reportOutage(error)
        if (error instanceof DatabaseAway || isLast) return
      }
    }
  }

  #reportOutage(cause: unknown): void {
    const isNews = !this.#away
    this.#away = { cause }
    if (!isNews) return
    for (const listener of this.#listeners) listener()
  }

  async #check(): Promise<void> {
    this.#client ??= await this.#connect()
    const started = performance.now()
    const look = await inTime(ask(this.#client, this.name), this.#timeoutMs)
    this.#setClock(look.now, started, performance.now())
    const before = this.#lastCheck
    this.#lastCheck = look
    // Tables are often locked briefly. Only a table that is locked in two consecutive checks is reported as locked.
    this.#locked = new Set(look.locked.filter((table) => before.locked.includes(table)))
    const stuck = look.waiting.filter((pid) => before.waiting.includes(pid))
    if (stuck.length) await inTime(this.#client.query('select pg_cancel_backend(pid) from unnest($1::int[]) pid', [stuck]), this.#timeoutMs)
  }

  /**
   * Updates the clock offset. The database read its clock between `sent` and `received`, so the offset is kept while it is consistent with that
   * interval.
   */
  #setClock(databaseMs: number, sent: number, received: number): void {
    const measured = databaseMs - (sent + received) / 2
    const uncertainty = (received - sent) / 2 + 1
    if (!(Math.abs(measured - this.#offsetMs) <= uncertainty)) this.#offsetMs = measured
  }

  async #connect(): Promise<Client> {
    const client = new Client({
      connectionString: this.#url,
      application_name: `${this.name} watch`,
      connectionTimeoutMillis: this.#timeoutMs,
      statement_timeout: this.#timeoutMs,
      keepAlive: true,
    })
    // Without an error listener, a lost connection would crash the process.
    client.on('error', () => {})
    await client.connect()
    return client
  }
}

const tableNames = /\b(?:from|join|into|update|table)\s+"?(\w+)"?/gi

type CheckResult = z.infer<typeof checkRow>
const checkRow = z.object({ now: z.coerce.number(), locked: z.array(z.string()), waiting: z.array(z.number()) })

async function ask(client: Client, name: string): Promise<CheckResult> {
  const { rows } = await client.query(
    `select extract(epoch from clock_timestamp()) * 1000 as now,
      array(select distinct c.relname::text from pg_locks l join pg_class c on c.oid = l.relation
        where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock' and c.relkind = 'r'
          and l.database = (select oid from pg_database where datname = current_database())) as locked,
      array(select l.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'relation' and not l.granted and a.application_name = $1) as waiting`,
    [name],
  )
  return checkRow.parse(rows[0])
}

/**
 * Resolves with the result of `work`, or rejects after a timeout. If this process was blocked in the meantime, waits once more.
 * @throws DatabaseAway on timeout.
 */
async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const late = Symbol('late')
  for (;;) {
    const begun = performance.now()
    const cancelling = new AbortController()
    const timer = sleep(timeoutMs, late, { ref: false, signal: cancelling.signal }).catch(() => late)
    const first = await Promise.race([work, timer])
    cancelling.abort()
    if (first !== late) return first as T
    if (performance.now() - begun > timeoutMs + 200) continue
    // The answer may have arrived while timer callbacks were running.
    await turn()
    const second = await Promise.race([work, turn(late)])
    if (second !== late) return second
    work.catch(() => {})
    throw new DatabaseAway(`PostgreSQL did not answer within ${timeoutMs} ms.`)
  }
}
