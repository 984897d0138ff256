import type { ClientBase, QueryResult } from 'pg'
import { z } from 'zod'

/** A database, and how far it has been written: what a replica has to have reached to answer in its place. */
export type Position = z.infer<typeof position>
const position = z.object({
  /** Which PostgreSQL cluster and database it is. */
  place: z.string(),
  /** Which history its log has: a replica that was made the primary begins a new one. */
  timeline: z.number(),
  /** Where its log ends. */
  lsn: z.string().regex(/^[0-9A-F]+\/[0-9A-F]+$/),
})

/** How a replica stands to a position; `lagSeconds` is the age of the last transaction that it has, where that is known. */
export type Standing = { state: 'current' | 'behind'; lagSeconds: number | null } | { state: 'refused'; reason: string }

const placeOfDatabase = `(select system_identifier from pg_control_system())::text || ' ' ||
  (select oid from pg_database where datname = current_database()) as place`

/**
 * Asks a primary for its position. Whatever was committed by then is before it: a commit is visible once it is flushed, or, where
 * synchronous_commit is off, as soon as it is in the log at all.
 */
export const positionSql = `select ${placeOfDatabase}, ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::int as timeline, lsn::text
  from (select case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end as lsn) log`

/** The position in the answer to `positionSql`. */
export const readPosition = (row: unknown): Position => position.parse(row)

/**
 * How the replica stands that this connection leads to. What it is asked afterwards, in statements that each see what is there by then, is at
 * least as new as it says here.
 */
export async function standingOf(client: ClientBase, wanted: Position): Promise<Standing> {
  return judge(wanted, await client.query(standingSql(wanted)))
}

/** Begins a transaction in which nothing can be written, and tells the same. */
export async function beginReading(client: ClientBase, wanted: Position): Promise<Standing> {
  const begin = 'start transaction isolation level read committed read only'
  // Several statements in one message have an answer each.
  const answers: unknown = await client.query(`${begin}; ${standingSql(wanted)}`)
  return judge(wanted, (answers as QueryResult[])[1])
}

/** The control file tells a new timeline some time after it began: until then the replica is not used. */
const standingSql = ({ lsn }: Position) => `select pg_is_in_recovery() as "isStandby", ${placeOfDatabase},
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

function judge(wanted: Position, result: QueryResult | undefined): Standing {
  const { isStandby, place, timeline, isCurrent, lagSeconds } = answer.parse(result?.rows[0])
  if (place !== wanted.place) return { state: 'refused', reason: 'it is not a replica of the database of POSTGRES_URL' }
  if (!isStandby) return { state: 'refused', reason: 'it is no replica: it can be written to' }
  if (timeline !== wanted.timeline)
    return { state: 'refused', reason: `it is on timeline ${timeline} and the database of POSTGRES_URL on ${wanted.timeline}` }
  return isCurrent ? { state: 'current', lagSeconds: 0 } : { state: 'behind', lagSeconds }
}
