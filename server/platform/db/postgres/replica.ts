import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { nameOfDatabase } from '../location/missing.ts'
import type { DatabaseConfig } from '../options.ts'
import type { PoolState } from '../pool-state.ts'
import { PostgresConnections } from './postgres-connections.ts'
import { PostgresWatch } from './postgres-watch.ts'
import { beginReading, type Position, positionSql, readPosition, type ReplicaState, replicaStateOf } from './replica-position.ts'
import { endsConnection } from '../unavailable.ts'

/**
 * Outcome of a read: served by the replica, or by the primary because the replica was behind, busy, down, not a replica of this database, or failed.
 */
export type ReplicaOutcome = 'replica' | 'behind' | 'busy' | 'away' | 'refused' | 'failed'

/** Called when the use of the replica starts or stops. */
export type ReplicaListener = (message: string, isUsed: boolean) => void

/** Maximum time in milliseconds that a read waits for the replica to catch up. A few milliseconds are usual. */
const maxWaitMs = 20
/** Milliseconds for which the replica is not used after each outcome. */
const pausesMs = { behind: 250, busy: 250, away: 1000, refused: 5000 }
/** Maximum timeouts on the replica, in milliseconds. They are short because the primary can always serve the read instead. */
const maxTimeoutsMs = { pool: 1000, connect: 1000, statement: 3000, lock: 500 }

/**
 * A read replica (POSTGRES_READ_URL) for expensive reads. It serves a read only if it has replayed everything that was committed on the primary when
 * the read began, so results are never stale. A read never fails because of the replica.
 */
export class Replica {
  /** Number of reads by outcome. */
  readonly counts: Record<ReplicaOutcome, number> = { replica: 0, behind: 0, busy: 0, away: 0, refused: 0, failed: 0 }
  readonly #primary: PostgresConnections
  readonly #connections: PostgresConnections
  readonly #notify: ReplicaListener
  readonly #name: string
  readonly #reported = new Set<string>()
  /** The last reported state: null if the replica is used, or the reason why it is not. */
  #lastReported: string | null | undefined
  #pause: { since: number; until: number; why: keyof typeof pausesMs } | null = null
  #asking: Promise<unknown> = Promise.resolve()
  #nextPosition: Promise<Position> | null = null

  private constructor(config: DatabaseConfig, primary: PostgresConnections, watch: PostgresWatch, report: ReplicaListener) {
    this.#primary = primary
    this.#connections = new PostgresConnections(withShortTimeouts(config), watch, { max: config.POSTGRES_READ_POOL_MAX })
    this.#notify = report
    this.#name = nameOfReplica(config)
    watch.onAway(() => this.#markUnavailable('away', 'it does not respond'))
  }

  /** Connects to the configured replica, which may be down. `primary` is the pool of the primary. */
  static async open(config: DatabaseConfig, primary: PostgresConnections, report: ReplicaListener): Promise<Replica> {
    const watch = await PostgresWatch.openSecondary(primary.watch, config.POSTGRES_READ_URL ?? '')
    const replica = new Replica(config, primary, watch, report)
    // Errors of the primary are reported elsewhere.
    await replica.look().catch(() => null)
    return replica
  }

  /** Runs `work` in a read-only transaction on the replica. Resolves to null if the primary must serve the read. */
  async attempt<Value>(work: (client: PoolClient) => Promise<Value>): Promise<{ value: Value } | null> {
    const client = await this.#acquire()
    if (!client) return null
    try {
      const value = await work(client)
      this.counts.replica++
      this.#finish(client)
      return { value }
    } catch (error) {
      this.#connections.release(client, true)
      if (endsConnection(error)) this.#markUnavailable('away', reasonOf(error))
      else this.#report(error, 'failed a read, which the primary served instead')
      this.counts.failed++
      return null
    }
  }

  /** Returns the current state of the replica, or null if it does not respond. @throws Error if the primary does not report its position. */
  async look(): Promise<ReplicaState | null> {
    const began = performance.now()
    const position = await this.#position()
    let client: PoolClient | undefined
    try {
      client = await this.#connections.acquire()
      const standing = await replicaStateOf(client, position)
      this.#connections.release(client, false)
      if (standing.state === 'refused') this.#markUnavailable('refused', standing.reason)
      else this.#markAvailable(began)
      return standing
    } catch (error) {
      this.#handleFailure(client, error)
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

  /** Acquires a connection to an up-to-date replica, in a read-only transaction. Resolves to null if the primary must serve the read. */
  async #acquire(): Promise<PoolClient | null> {
    const began = performance.now()
    if (this.#pause && began < this.#pause.until) return this.#fallBack(this.#pause.why)
    const position = await this.#position().catch((error: unknown) =>
      this.#report(error, 'is skipped, because the primary does not report its position'),
    )
    if (!position) return this.#fallBack('failed')
    let client: PoolClient | undefined
    try {
      client = await this.#connections.acquire()
      const standing = await waitUntilCurrent(client, position)
      if (standing.state === 'current') {
        this.#markAvailable(began)
        return client
      }
      this.#finish(client)
      this.#markUnavailable(standing.state, standing.state === 'refused' ? standing.reason : '')
      return this.#fallBack(standing.state)
    } catch (error) {
      return this.#fallBack(this.#handleFailure(client, error))
    }
  }

  #fallBack(why: ReplicaOutcome): null {
    this.counts[why]++
    return null
  }

  /**
   * Returns the position of the primary. Callers that arrive during a query share the next one, because the running query may miss their latest
   * commits.
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

  /** Handles a failed connection or a failed attempt to acquire one. */
  #handleFailure(client: PoolClient | undefined, error: unknown): 'busy' | 'away' {
    const { open, max } = this.state()
    const why = !client && open >= max ? 'busy' : 'away'
    if (client) this.#connections.release(client, true)
    this.#markUnavailable(why, reasonOf(error))
    return why
  }

  /** Commits the read-only transaction in the background, since its result does not matter. */
  #finish(client: PoolClient): void {
    const release = (mustClose: boolean) => this.#connections.release(client, mustClose)
    client.query('commit').then(
      () => release(false),
      () => release(true),
    )
  }

  /** Marks the replica as up to date. Ignores a check that began before the replica was last marked unavailable. */
  #markAvailable(began: number): void {
    if (this.#pause && began < this.#pause.since) return
    this.#pause = null
    if (this.#lastReported === null) return
    this.#notify(`${this.#name} serves expensive reads${this.#lastReported === undefined ? '' : ' again'} while it is up to date`, true)
    this.#lastReported = null
  }

  /** Stops using the replica for a while. Being behind or busy is normal and is not reported. */
  #markUnavailable(why: keyof typeof pausesMs, reason: string): void {
    const since = performance.now()
    this.#pause = { since, until: since + pausesMs[why], why }
    const said = why === 'refused' ? reason : why
    if (why === 'behind' || why === 'busy' || this.#lastReported === said) return
    this.#lastReported = said
    this.#notify(`${this.#name} is not used: ${reason}. The primary serves all reads.`, false)
  }

  /** Reports each kind of error once. Conflicts with replay are not reported, because replicas routinely cancel reads for them. */
  #report(error: unknown, what: string): void {
    const code = String((error as { code?: unknown }).code)
    if (replayConflicts.has(code) || this.#reported.has(code)) return
    this.#reported.add(code)
    this.#notify(`${this.#name} ${what}: ${reasonOf(error)}`, false)
  }
}

/** Returns the name of a replica for messages, without its password. */
export const nameOfReplica = ({ POSTGRES_READ_URL = '', ...config }: DatabaseConfig): string =>
  nameOfDatabase({ ...config, POSTGRES_URL: POSTGRES_READ_URL }).replace(/^the database/, 'the replica')

const replayConflicts = new Set(['40001', '40P01', '57014', '55P03'])

/** Returns the message of an error, or of its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: unknown; cause?: unknown }
  return cause instanceof Error && cause.message ? cause.message : String(message)
}

async function waitUntilCurrent(client: PoolClient, position: Position): Promise<ReplicaState> {
  let standing = await beginReading(client, position)
  for (const until = performance.now() + maxWaitMs; standing.state === 'behind' && performance.now() < until;) {
    await sleep(3)
    standing = await replicaStateOf(client, position)
  }
  return standing
}

const withShortTimeouts = (config: DatabaseConfig): DatabaseConfig => ({
  ...config,
  POSTGRES_URL: config.POSTGRES_READ_URL,
  DB_POOL_TIMEOUT_MS: Math.min(config.DB_POOL_TIMEOUT_MS, maxTimeoutsMs.pool),
  DB_CONNECT_TIMEOUT_MS: Math.min(config.DB_CONNECT_TIMEOUT_MS, maxTimeoutsMs.connect),
  DB_STATEMENT_TIMEOUT_MS: Math.min(config.DB_STATEMENT_TIMEOUT_MS, maxTimeoutsMs.statement),
  DB_LOCK_TIMEOUT_MS: Math.min(config.DB_LOCK_TIMEOUT_MS, maxTimeoutsMs.lock),
})
