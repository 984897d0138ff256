import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { v4 as random } from 'uuid'
import { changeRows, readRow, readRows, type Value } from '../db/statements.ts'
import { unforced } from '../db/sqlite/unforced.ts'
import { Job } from './entity.ts'

/** A job that this process holds. */
export type Held = Pick<Job, 'id' | 'kind' | 'subject' | 'payload' | 'attempts' | 'interruptions' | 'priority' | 'owner'> & {
  lease: string
}

/**
 * Takes a job of these kinds: of those that wait and are due the one with the lowest priority, among those the one with the earliest turn, and
 * among those the one that has been due for longest. Jobs whose lease has run out are queued again first. Returns null when there is none, apart
 * from jobs that another caller has locked. Concurrent callers get different jobs, and none while another job for the same subject is running.
 * Callers do not get what they are doing themselves (`own`, by id), even if the clock was put forward, and with `isUrgent` no background jobs.
 * Of the jobs of a kind that were interrupted, one runs at a time: what ends the server again is known then, and takes no other one with it. For
 * one kind the cost does not depend on how many wait; several are sorted.
 */
export async function claim(
  em: EntityManager,
  kinds: string[],
  now: Date,
  leaseMs: number,
  { own = [], isUrgent = false }: { own?: string[]; isUrgent?: boolean } = {},
): Promise<Held | null> {
  // Most often there is none, which is seen without writing.
  const wanted = { kinds, now, own, isUrgent }
  const states = await findDue(em.fork(), wanted)
  if (states.includes('running')) await requeueLost(em, wanted)
  return states.length > 0 ? take(em.fork(), { ...wanted, leaseMs }) : null
}

type Wanted = { kinds: string[]; now: Date; own: string[]; isUrgent: boolean }
type Takeable = 'running' | 'queued'

const among = (values: string[]) => `(${values.map(() => '?').join(', ')})`

/** Jobs whose holder let its lease run out. */
function lostJobs({ kinds, now, own }: Omit<Wanted, 'isUrgent'>): { sql: string; values: Value[] } {
  const sql = `from jobs j where kind in ${among(kinds)} and state = 'running' and leased_until < ?
      ${own.length > 0 ? `and id not in ${among(own)}` : ''} order by priority, turn, run_at, id limit ${lostAtOnce}`
  return { sql, values: [...kinds, now, ...own] }
}
const lostAtOnce = 100

/** The job that is to be taken next, found by an index. */
function nextJob({ kinds, now, own, isUrgent }: Wanted): { sql: string; values: Value[] } {
  const sql = `from jobs j where kind in ${among(kinds)} and state = 'queued' and run_at <= ?
      ${own.length > 0 ? `and id not in ${among(own)}` : ''} ${isUrgent ? 'and priority <= 0' : ''}
      and not exists (select 1 from jobs r where r.kind = j.kind and r.subject = j.subject and r.state = 'running')
      and (interruptions = 0 or not exists (select 1 from jobs r where r.kind = j.kind and r.state = 'running' and r.interruptions > 0))
    order by priority, turn, run_at, id limit 1`
  return { sql, values: [...kinds, now, ...own] }
}

/** The states that have something to do. */
async function findDue(em: EntityManager, wanted: Wanted): Promise<Takeable[]> {
  const [lost, waiting] = [lostJobs(wanted), nextJob(wanted)]
  const sql = `select distinct state from (select state ${lost.sql}) lost union all select state from (select state ${waiting.sql}) waiting`
  return (await readRows<{ state: Takeable }>(em, sql, [...lost.values, ...waiting.values])).map(({ state }) => state)
}

/**
 * Queues jobs again whose process ended, or fell silent, while it ran them. That counts as an interruption, not as an attempt that failed. From the
 * second one on a job waits before it runs again, so that one which ends the server itself leaves time for others.
 */
export async function requeueLost(em: EntityManager, wanted: Omit<Wanted, 'isUrgent'>): Promise<void> {
  const { sql, values } = lostJobs(wanted)
  const lost = await readRows<Pick<Held, 'id' | 'lease' | 'interruptions'>>(em.fork(), `select id, lease, interruptions ${sql}`, values)
  for (const { id, lease, interruptions } of lost) {
    const waitMs = interruptions === 0 ? 0 : backOffMs(interruptions)
    const again = { ...free, interruptions: interruptions + 1, error: interrupted }
    await requeue(
      em,
      { id, lease, lock: skipLocked(em) },
      { ...again, run_at: later(wanted.now, waitMs) },
      { ...again, finished_at: wanted.now },
    )
  }
}

const interrupted = 'The server ended while it ran this job.'

/** 10 seconds, then four times as long each time, at most an hour; a little uneven, so that what failed together is not tried together. */
export const backOffMs = (times: number): number => Math.min(10_000 * 4 ** (times - 1), 3_600_000) * (1 + Math.random() / 10)

/** On PostgreSQL, each caller skips rows that another one has locked; SQLite has one writer. */
const skipLocked = (em: EntityManager) => (em.getPlatform() instanceof BasePostgreSqlPlatform ? 'for update of j skip locked' : '')

/** Takes the next job; null when another caller was faster, or has all of them locked. */
async function take(em: EntityManager, { leaseMs, ...wanted }: Wanted & { leaseMs: number }): Promise<Held | null> {
  const next = nextJob(wanted)
  const lease = random()
  const update = `update jobs set state = 'running', lease = ?, leased_until = ?, started_at = ?, attempts = attempts + 1, done = 0, total = null, phase = null
    where id = (select id ${next.sql} ${skipLocked(em)}) returning id, kind, subject, payload, attempts, interruptions, priority, owner`
  const values = [lease, later(wanted.now, leaseMs), wanted.now, ...next.values]
  const row = await unforced(() => readRow<Omit<Held, 'lease'>>(em, update, values))
  return row ? { ...row, lease } : null
}

export type Progress = { done?: number | undefined; total?: number | null | undefined; phase?: string | undefined }

/** Holds on to a job, and says how far it is: attempt.ts does so at least three times in each lease of worker.ts. False when somebody else has it by now. */
export async function renew(em: EntityManager, held: Held, now: Date, leaseMs: number, progress: Progress = {}): Promise<boolean> {
  return change(em, held, { ...columnsOf(progress), leased_until: later(now, leaseMs) })
}

/** Ends a job well. False when somebody else has it by now. */
export const finish = (em: EntityManager, held: Held, now: Date, progress: Progress): Promise<boolean> =>
  change(em, held, { ...columnsOf(progress), ...free, state: 'done', finished_at: now, error: null })

/** Ends an attempt that failed: the job waits until `retryAt`, or has failed for good when that is null. */
export async function fail(em: EntityManager, held: Held, now: Date, error: string, retryAt: Date | null): Promise<boolean> {
  const failed = { ...free, state: 'failed', finished_at: now, error }
  return retryAt === null ? change(em, held, failed) : requeue(em, held, { ...free, run_at: retryAt, error }, failed)
}

/** Queues a job again. When the same was asked for again in the meantime, that one will do it, and this one has failed. */
async function requeue(em: EntityManager, held: Lease, queued: Changes, failed: Changes): Promise<boolean> {
  try {
    return await change(em, held, { ...queued, state: 'queued' })
  } catch (failure) {
    if (failure instanceof UniqueConstraintViolationException) return change(em, held, { ...failed, state: 'failed' })
    throw failure
  }
}

/** Gives a job back as if it had not been tried. */
export async function release(em: EntityManager, held: Held, now: Date): Promise<boolean> {
  try {
    return await change(em, held, { ...free, state: 'queued', run_at: now, attempts: held.attempts - 1 })
  } catch (failure) {
    if (failure instanceof UniqueConstraintViolationException) return change(em, held, { leased_until: later(now, -1) })
    throw failure
  }
}

/** Lets go of whatever a process held that is known to be dead, so that nobody waits for its leases to run out. */
export const releaseAll = (em: EntityManager, now: Date): Promise<number> =>
  em.nativeUpdate(Job, { state: 'running' }, { leasedUntil: later(now, -1) })

const free = { lease: null, leased_until: null }

/** Which job is changed, while it is held under this lease; `lock` says what happens when another caller has locked its row. */
type Lease = Pick<Held, 'id' | 'lease'> & { lock?: string }
type Changes = Readonly<Record<string, Value>>

/** What was reported, by its columns; what was not stays. */
const columnsOf = ({ done, total, phase }: Progress): Record<string, Value> => ({
  ...(done !== undefined && { done }),
  ...(total !== undefined && { total }),
  ...(phase !== undefined && { phase }),
})

const later = (now: Date, ms: number) => new Date(now.getTime() + ms)

/**
 * Whoever took a job over has another lease: then nothing is changed. What is known of a job need not survive a power cut: a job that is lost as
 * done is done again.
 */
async function change(em: EntityManager, { id, lease, lock = '' }: Lease, changes: Changes): Promise<boolean> {
  const columns = Object.keys(changes).map((column) => `${column} = ?`)
  const own = `select id from jobs j where id = ? and lease = ? and state = 'running' ${lock}`
  const sql = `update jobs set ${columns.join(', ')} where id = (${own})`
  return (await unforced(() => changeRows(em.fork(), sql, [...Object.values(changes), id, lease]))) > 0
}
