import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { nameOfDatabase } from '../location/missing.ts'
import type { DatabaseConfig } from '../options.ts'
import type { PoolState } from '../pool-state.ts'
import { PostgresConnections } from './postgres-connections.ts'
import { PostgresWatch } from './postgres-watch.ts'
import { beginReading, type Position, positionSql, readPosition, type Standing, standingOf } from './replica-position.ts'
import { endsConnection } from '../unavailable.ts'

/** Who answered a read: the replica, or the primary because the replica was behind, had no connection free, was away, not one of its own, or did not finish. */
export type ReplicaOutcome = 'replica' | 'behind' | 'busy' | 'away' | 'refused' | 'failed'

/** Hears once of every change in whether the replica is used. */
export type TellOfReplica = (message: string, isUsed: boolean) => void

/** What a read waits at most for the replica to catch up: a few milliseconds are usual. */
const patienceMs = 20
/** How long nobody asks the replica again. */
const pausesMs = { behind: 250, busy: 250, away: 1000, refused: 5000 }
/** It has to be quick in everything: the primary can always answer instead. */
const longestMs = { pool: 1000, connect: 1000, statement: 3000, lock: 500 }

/**
 * A replica of the database (POSTGRES_READ_URL) for reads that weigh. It is used for a read only when it has all that the primary had when the
 * read began, so what it answers is never older than what the primary would have answered. It never makes a read fail.
 */
export class Replica {
  /** How many reads ended in which way. */
  readonly counts: Record<ReplicaOutcome, number> = { replica: 0, behind: 0, busy: 0, away: 0, refused: 0, failed: 0 }
  readonly #primary: PostgresConnections
  readonly #connections: PostgresConnections
  readonly #tell: TellOfReplica
  readonly #name: string
  readonly #reported = new Set<string>()
  /** What was told last: that it is used (null), or why not. */
  #told: string | null | undefined
  #pause: { since: number; until: number; why: keyof typeof pausesMs } | null = null
  #asking: Promise<unknown> = Promise.resolve()
  #nextPosition: Promise<Position> | null = null

  private constructor(config: DatabaseConfig, primary: PostgresConnections, watch: PostgresWatch, tell: TellOfReplica) {
    this.#primary = primary
    this.#connections = new PostgresConnections(impatient(config), watch, { max: config.POSTGRES_READ_POOL_MAX })
    this.#tell = tell
    this.#name = nameOfReplica(config)
    watch.onAway(() => this.#turnAway('away', 'it does not answer'))
  }

  /** Looks for the replica of the settings, which may be away, too. `primary` are connections to the database itself. */
  static async open(config: DatabaseConfig, primary: PostgresConnections, tell: TellOfReplica): Promise<Replica> {
    const watch = await PostgresWatch.openBeside(primary.watch, config.POSTGRES_READ_URL ?? '')
    const replica = new Replica(config, primary, watch, tell)
    // A primary that does not say how far it is has its own ways to be heard of.
    await replica.look().catch(() => null)
    return replica
  }

  /** Does some work on the replica, in a transaction in which nothing can be written; null when the primary has to do it. */
  async attempt<Value>(work: (client: PoolClient) => Promise<Value>): Promise<{ value: Value } | null> {
    const client = await this.#enter()
    if (!client) return null
    try {
      const value = await work(client)
      this.counts.replica++
      this.#giveBack(client)
      return { value }
    } catch (error) {
      this.#connections.release(client, true)
      if (endsConnection(error)) this.#turnAway('away', reasonOf(error))
      else this.#report(error, 'failed, so that the primary answered')
      this.counts.failed++
      return null
    }
  }

  /** How it stands now; null when it does not answer. @throws Error when the primary does not say how far it is. */
  async look(): Promise<Standing | null> {
    const began = performance.now()
    const position = await this.#position()
    let client: PoolClient | undefined
    try {
      client = await this.#connections.acquire()
      const standing = await standingOf(client, position)
      this.#connections.release(client, false)
      if (standing.state === 'refused') this.#turnAway('refused', standing.reason)
      else this.#welcome(began)
      return standing
    } catch (error) {
      this.#lose(client, error)
      return null
    }
  }

  state(): PoolState {
    return this.#connections.state('replica')
  }

  async close(): Promise<void> {
    await this.#connections.close()
    await this.#connections.watch.close()
  }

  /** A connection to a replica that has everything, in a transaction. */
  async #enter(): Promise<PoolClient | null> {
    const began = performance.now()
    if (this.#pause && began < this.#pause.until) return this.#pass(this.#pause.why)
    const position = await this.#position().catch((error: unknown) =>
      this.#report(error, 'is not asked, since the primary does not say how far it is'),
    )
    if (!position) return this.#pass('failed')
    let client: PoolClient | undefined
    try {
      client = await this.#connections.acquire()
      const standing = await caughtUp(client, position)
      if (standing.state === 'current') {
        this.#welcome(began)
        return client
      }
      this.#giveBack(client)
      this.#turnAway(standing.state, standing.state === 'refused' ? standing.reason : '')
      return this.#pass(standing.state)
    } catch (error) {
      return this.#pass(this.#lose(client, error))
    }
  }

  #pass(why: ReplicaOutcome): null {
    this.counts[why]++
    return null
  }

  /**
   * The primary's position. Whoever asks while a question is under way waits for the next answer: the one that is under way may not know what
   * was committed since.
   */
  #position(): Promise<Position> {
    this.#nextPosition ??= this.#asking.then(() => {
      this.#nextPosition = null
      const asked = this.#primary.query({ name: 'position', text: positionSql }).then(({ rows }) => readPosition(rows[0]))
      this.#asking = asked.catch(() => {})
      return asked
    })
    return this.#nextPosition
  }

  /** Gives up a connection that failed, or waiting for one. */
  #lose(client: PoolClient | undefined, error: unknown): 'busy' | 'away' {
    const { open, max } = this.state()
    const why = !client && open >= max ? 'busy' : 'away'
    if (client) this.#connections.release(client, true)
    this.#turnAway(why, reasonOf(error))
    return why
  }

  /** Nobody waits for the end of a transaction that has nothing to keep. */
  #giveBack(client: PoolClient): void {
    const release = (isUseless: boolean) => this.#connections.release(client, isUseless)
    client.query('commit').then(
      () => release(false),
      () => release(true),
    )
  }

  /** It has everything. Whoever began to ask before others lost it tells nothing new. */
  #welcome(began: number): void {
    if (this.#pause && began < this.#pause.since) return
    this.#pause = null
    if (this.#told === null) return
    this.#tell(
      `${this.#name} answers what weighs${this.#told === undefined ? '' : ' again'}, whenever it has all that the primary has`,
      true,
    )
    this.#told = null
  }

  /** That it is behind or busy for a moment is no news. */
  #turnAway(why: keyof typeof pausesMs, reason: string): void {
    const since = performance.now()
    this.#pause = { since, until: since + pausesMs[why], why }
    const said = why === 'refused' ? reason : why
    if (why === 'behind' || why === 'busy' || this.#told === said) return
    this.#told = said
    this.#tell(`${this.#name} is not used: ${reason}. The primary answers everything.`, false)
  }

  /** Tells of each kind of error once; a replica ends reads all the time that hold up what it is to replay. */
  #report(error: unknown, what: string): void {
    const code = String((error as { code?: unknown }).code)
    if (isOfReplaying.has(code) || this.#reported.has(code)) return
    this.#reported.add(code)
    this.#tell(`${this.#name} ${what}: ${reasonOf(error)}`, false)
  }
}

/** A replica as messages name it, without its password. */
export const nameOfReplica = ({ POSTGRES_READ_URL = '', ...config }: DatabaseConfig): string =>
  nameOfDatabase({ ...config, POSTGRES_URL: POSTGRES_READ_URL }).replace(/^the database/, 'the replica')

const isOfReplaying = new Set(['40001', '40P01', '57014', '55P03'])

/** What an error says, or what it was caused by. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: unknown; cause?: unknown }
  return cause instanceof Error && cause.message ? cause.message : String(message)
}

async function caughtUp(client: PoolClient, position: Position): Promise<Standing> {
  let standing = await beginReading(client, position)
  for (const until = performance.now() + patienceMs; standing.state === 'behind' && performance.now() < until;) {
    await sleep(3)
    standing = await standingOf(client, position)
  }
  return standing
}

const impatient = (config: DatabaseConfig): DatabaseConfig => ({
  ...config,
  POSTGRES_URL: config.POSTGRES_READ_URL,
  DB_POOL_TIMEOUT_MS: Math.min(config.DB_POOL_TIMEOUT_MS, longestMs.pool),
  DB_CONNECT_TIMEOUT_MS: Math.min(config.DB_CONNECT_TIMEOUT_MS, longestMs.connect),
  DB_STATEMENT_TIMEOUT_MS: Math.min(config.DB_STATEMENT_TIMEOUT_MS, longestMs.statement),
  DB_LOCK_TIMEOUT_MS: Math.min(config.DB_LOCK_TIMEOUT_MS, longestMs.lock),
})
