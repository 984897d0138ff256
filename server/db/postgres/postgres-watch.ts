import { randomBytes } from 'node:crypto'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { z } from 'zod'
import { DatabaseAway, isOutOfConnections, patiently, TableLocked } from '../unavailable.ts'

/** How often the database is looked at, and how long it may take to answer. */
const lookMs = 500
const patienceMs = 1000

/** What the connections of servers call themselves, as a regular expression. */
export const nameOfServers = '^snug [0-9a-f]{8}( watch)?$'
/** What the connection that each server has all the time calls itself. */
export const nameOfWatches = '^snug [0-9a-f]{8} watch$'

/**
 * Looks at PostgreSQL twice a second on a connection of its own: what time it is there, whether it answers, and whether somebody keeps a whole
 * table locked. So a request need not wait for a time-out to learn that the database is away, and what waits for a locked table does not use up
 * the connections of everybody else.
 */
export class PostgresWatch {
  /** What this process's connections call themselves, to be told from those of others. */
  readonly name: string
  readonly #url: string
  readonly #listeners = new Set<() => void>()
  readonly #sharers = new Set<() => void>()
  readonly #stopping = new AbortController()
  #client: Client | null = null
  /** Why the database does not answer, when it does not. */
  #away: { cause: unknown } | null = null
  #locked: ReadonlySet<string> = new Set()
  #seen: Look = { now: 0, locked: [], waiting: [] }
  /** The database's time is this much ahead of this process's steady clock, which nobody sets. */
  #offsetMs = Number.NaN
  #ended: Promise<void> = Promise.resolve()

  private constructor(url: string, name = `snug ${randomBytes(4).toString('hex')}`) {
    this.#url = url
    this.name = name
  }

  /**
   * Begins to look. Statements of connections with the watch's name are cancelled when they wait for a locked table.
   * @throws Error when the database does not answer.
   */
  static async open(url: string): Promise<PostgresWatch> {
    const watch = new PostgresWatch(url)
    await patiently(() => watch.#look())
    watch.#ended = watch.#keepLooking()
    return watch
  }

  /** Begins to look at a database that may be away, beside another one that this process's connections are called after. */
  static async openBeside({ name }: PostgresWatch, url: string): Promise<PostgresWatch> {
    const watch = new PostgresWatch(url, name)
    await watch.#lookAgain()
    watch.#ended = watch.#keepLooking()
    return watch
  }

  /** The database's time: the same on all machines, however their clocks are set. */
  readonly now = (): Date => new Date(performance.now() + this.#offsetMs)

  /** @throws DatabaseAway while the database does not answer. */
  requireHere(): void {
    if (this.#away) throw new DatabaseAway('PostgreSQL does not answer.', this.#away)
  }

  /** @throws TableLocked for a statement on a table that somebody keeps locked. */
  requireFree(sql: string): void {
    if (this.#locked.size === 0) return
    for (const [, table = ''] of sql.matchAll(tableNames)) {
      if (this.#locked.has(table)) throw new TableLocked(`The table ${table} is locked.`)
    }
  }

  /** Calls `listener` whenever the database stops to answer. Gives what ends it. */
  onAway(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Calls `listener` whenever something has no connection, and PostgreSQL none to give. Gives what ends it. */
  onScarce(listener: () => void): () => void {
    this.#sharers.add(listener)
    return () => void this.#sharers.delete(listener)
  }

  /** Asks whoever has several connections to let go of one. */
  announceScarcity(): void {
    for (const share of this.#sharers) share()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
    await this.#client?.end()
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await sleep(lookMs, undefined, { ref: false, signal }).catch(() => {})
      if (!signal.aborted) await this.#lookAgain()
    }
  }

  /** A connection that ended is made anew at once: that it was terminated says nothing about the database. */
  async #lookAgain(): Promise<void> {
    for (const attempt of ['with the connection there is', 'with a new one']) {
      const isLast = attempt === 'with a new one' || !this.#client
      try {
        await this.#look()
        this.#away = null
        return
      } catch (error) {
        this.#client?.end().catch(() => {})
        this.#client = null
        if (isOutOfConnections(error)) this.announceScarcity()
        if (error instanceof DatabaseAway || (isLast && !isOutOfConnections(error))) this.#notice(error)
        if (error instanceof DatabaseAway || isLast) return
      }
    }
  }

  #notice(cause: unknown): void {
    const isNews = !this.#away
    this.#away = { cause }
    if (!isNews) return
    for (const listener of this.#listeners) listener()
  }

  async #look(): Promise<void> {
    this.#client ??= await this.#connect()
    const started = performance.now()
    const look = await inTime(ask(this.#client, this.name))
    this.#setClock(look.now, started, performance.now())
    const before = this.#seen
    this.#seen = look
    // Tables are locked for moments all the time; only what is found twice keeps others waiting.
    this.#locked = new Set(look.locked.filter((table) => before.locked.includes(table)))
    const stuck = look.waiting.filter((pid) => before.waiting.includes(pid))
    if (stuck.length) await inTime(this.#client.query('select pg_cancel_backend(pid) from unnest($1::int[]) pid', [stuck]))
  }

  /** The answer was made between `sent` and `received`: as long as the clock agrees with that, it stays as it is. */
  #setClock(databaseMs: number, sent: number, received: number): void {
    const measured = databaseMs - (sent + received) / 2
    const uncertainty = (received - sent) / 2 + 1
    if (!(Math.abs(measured - this.#offsetMs) <= uncertainty)) this.#offsetMs = measured
  }

  async #connect(): Promise<Client> {
    const client = new Client({
      connectionString: this.#url,
      application_name: `${this.name} watch`,
      connectionTimeoutMillis: patienceMs,
      statement_timeout: patienceMs,
      keepAlive: true,
    })
    // Without a listener, a connection that ends would end the process.
    client.on('error', () => {})
    await client.connect()
    return client
  }
}

const tableNames = /\b(?:from|join|into|update|table)\s+"?(\w+)"?/gi

type Look = z.infer<typeof lookRow>
const lookRow = z.object({ now: z.coerce.number(), locked: z.array(z.string()), waiting: z.array(z.number()) })

async function ask(client: Client, name: string): Promise<Look> {
  const { rows } = await client.query(
    `select extract(epoch from clock_timestamp()) * 1000 as now,
      array(select distinct c.relname::text from pg_locks l join pg_class c on c.oid = l.relation
        where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock' and c.relkind = 'r'
          and l.database = (select oid from pg_database where datname = current_database())) as locked,
      array(select l.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'relation' and not l.granted and a.application_name = $1) as waiting`,
    [name],
  )
  return lookRow.parse(rows[0])
}

/**
 * What `work` gives, in time.
 * @throws DatabaseAway otherwise. When it was this process that had no time to listen, it waits once more.
 */
async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Symbol('late')
  for (;;) {
    const begun = performance.now()
    const cancelling = new AbortController()
    const timer = sleep(patienceMs, late, { ref: false, signal: cancelling.signal }).catch(() => late)
    const first = await Promise.race([work, timer])
    cancelling.abort()
    if (first !== late) return first as T
    if (performance.now() - begun > patienceMs + 200) continue
    // The answer may have arrived while timers had their turn.
    await turn()
    const second = await Promise.race([work, turn(late)])
    if (second !== late) return second
    work.catch(() => {})
    throw new DatabaseAway(`PostgreSQL did not answer within ${patienceMs} ms.`)
  }
}
