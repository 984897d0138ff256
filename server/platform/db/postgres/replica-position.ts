import type { ClientBase, QueryResult } from 'pg'
import { z } from 'zod'

/** A position in the write-ahead log of a database. A replica must have replayed it before it may serve reads. */
export type Position = z.infer<typeof position>
const position = z.object({
  /** Identifies the PostgreSQL cluster and database. */
  place: z.string(),
  /** The timeline of the log. Promoting a replica starts a new timeline. */
  timeline: z.number(),
  /** The log sequence number (LSN) of the end of the log. */
  lsn: z.string().regex(/^[0-9A-F]+\/[0-9A-F]+$/),
})

/** State of a replica relative to a position. `lagSeconds` is the age of the last replayed transaction, if known. */
export type ReplicaState = { state: 'current' | 'behind'; lagSeconds: number | null } | { state: 'refused'; reason: string }

const placeOfDatabase = `(select system_identifier from pg_control_system())::text || ' ' ||
  (select oid from pg_database where datname = current_database()) as place`

/**
 * Selects the current position of a primary. Every committed transaction lies before it: with `synchronous_commit = off` a commit is visible once it
 * is inserted into the log, otherwise once it is flushed.
 */
export const positionSql = `select ${placeOfDatabase}, ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::int as timeline, lsn::text
  from (select case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end as lsn) log`

/** Parses a row returned by `positionSql`. */
export const readPosition = (row: unknown): Position => position.parse(row)

/** Returns the state of the replica that `client` is connected to. Later statements on it see data that is at least as recent. */
export async function replicaStateOf(client: ClientBase, wanted: Position): Promise<ReplicaState> {
  return judge(wanted, await client.query(replicaStateSql(wanted)))
}

/** Begins a read-only transaction and returns the state of the replica. */
export async function beginReading(client: ClientBase, wanted: Position): Promise<ReplicaState> {
  const begin = 'start transaction isolation level read committed read only'
  // A message with several statements has one result per statement.
  const answers: unknown = await client.query(`${begin}; ${replicaStateSql(wanted)}`)
  return judge(wanted, (answers as QueryResult[])[1])
}

/** Selects the state of a replica. The control file reports a new timeline with a delay; the replica is not used until then. */
const replicaStateSql = ({ lsn }: Position) => `select pg_is_in_recovery() as "isStandby", ${placeOfDatabase},
  greatest((select timeline_id from pg_control_checkpoint()), (select min_recovery_end_timeline from pg_control_recovery())) as timeline,
  coalesce(pg_last_wal_replay_lsn() >= '${lsn}'::pg_lsn, false) as "isCurrent",
  greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))::float8 as "lagSeconds"`

const answer = z.object({
  isStandby: z.boolean(),
  place: z.string(),
  timeline: z.number(),
  isCurrent: z.boolean(),
  lagSeconds: z.number().nullable(),
})

function judge(wanted: Position, result: QueryResult | undefined): ReplicaState {
  const { isStandby, place, timeline, isCurrent, lagSeconds } = answer.parse(result?.rows[0])
  if (place !== wanted.place) return { state: 'refused', reason: 'it is not a replica of the database of POSTGRES_URL' }
  if (!isStandby) return { state: 'refused', reason: 'it is not a replica: it is writable' }
  if (timeline !== wanted.timeline)
    return { state: 'refused', reason: `it is on timeline ${timeline} and the database of POSTGRES_URL on ${wanted.timeline}` }
  return isCurrent ? { state: 'current', lagSeconds: 0 } : { state: 'behind', lagSeconds }
}
