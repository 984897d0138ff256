import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { v4 as random } from 'uuid'
import { changeRows, readRow, readRows, type Value, withoutSync } from '../db/statements.ts'
import { Job } from './entity.ts'
import { turnMs } from './queue.ts'

/** A job that this process has claimed. */
export type ClaimedJob = Pick<Job, 'id' | 'kind' | 'subject' | 'payload' | 'attempts' | 'interruptions' | 'priority' | 'owner'> & {
  lease: string
}

/**
 * Claims the next due job of these kinds, by priority, turn and due time, after requeuing jobs with expired leases. Returns null if no job is
 * available or others locked them all. Only one job per subject runs at a time. `own` lists jobs that the caller is running; they are never claimed, even if the
 * clock jumps. `isUrgent` excludes background jobs. Of the interrupted jobs of a kind, only one runs at a time, so that a job that crashes the server
 * does not interrupt others.
 */
export async function claim(
  em: EntityManager,
  kinds: string[],
  now: Date,
  leaseMs: number,
  { own = [], isUrgent = false }: { own?: string[]; isUrgent?: boolean } = {},
): Promise<ClaimedJob | null> {
  // Usually no job is due. Check without writing.
  const filter = { kinds, now, own, isUrgent }
  const states = await findDue(em.fork(), filter)
  if (states.includes('running')) await requeueLost(em, filter)
  return states.length > 0 ? take(em.fork(), { ...filter, leaseMs }) : null
}

type ClaimFilter = { kinds: string[]; now: Date; own: string[]; isUrgent: boolean }
type ActionableState = 'running' | 'queued'

const among = (values: string[]) => `(${values.map(() => '?').join(', ')})`

/** Returns the SQL for jobs whose lease has expired. */
function lostJobs({ kinds, now, own }: Omit<ClaimFilter, 'isUrgent'>): { sql: string; values: Value[] } {
  const sql = `from jobs j where kind in ${among(kinds)} and state = 'running' and leased_until < ?
      ${own.length > 0 ? `and id not in ${among(own)}` : ''} order by priority, turn, run_at, id limit ${maxRequeued}`
  return { sql, values: [...kinds, now, ...own] }
}
const maxRequeued = 100

/** Returns the SQL for the next job to claim. Uses an index. */
function nextJob({ kinds, now, own, isUrgent }: ClaimFilter): { sql: string; values: Value[] } {
  const sql = `from jobs j where kind in ${among(kinds)} and state = 'queued' and run_at <= ?
      ${own.length > 0 ? `and id not in ${among(own)}` : ''} ${isUrgent ? 'and priority <= 0' : ''}
      and not exists (select 1 from jobs r where r.kind = j.kind and r.subject = j.subject and r.state = 'running')
      and (interruptions = 0 or not exists (select 1 from jobs r where r.kind = j.kind and r.state = 'running' and r.interruptions > 0))
    order by priority, turn, run_at, id limit 1`
  return { sql, values: [...kinds, now, ...own] }
}

/** Returns `running` if jobs lost their lease, and `queued` if jobs are due. */
async function findDue(em: EntityManager, filter: ClaimFilter): Promise<ActionableState[]> {
  const [lost, waiting] = [lostJobs(filter), nextJob(filter)]
  const sql = `select distinct state from (select state ${lost.sql}) lost union all select state from (select state ${waiting.sql}) waiting`
  return (await readRows<{ state: ActionableState }>(em, sql, [...lost.values, ...waiting.values])).map(({ state }) => state)
}

/**
 * Requeues jobs whose process died or stopped renewing its lease. Counts an interruption, not a failed attempt. From the second interruption on, the
 * job waits before it runs again, and runs after all jobs of its kind and priority that are waiting: a job that crashes the server leaves time for
 * other jobs, and a server that is killed often interrupts each job a few times instead of the same one every time.
 */
export async function requeueLost(em: EntityManager, filter: Omit<ClaimFilter, 'isUrgent'>): Promise<void> {
  const { sql, values } = lostJobs(filter)
  const lost = await readRows<LostJob>(em.fork(), `select id, lease, interruptions, turn, kind, priority ${sql}`, values)
  for (const job of lost) {
    const { id, lease, interruptions } = job
    const [waitMs, turn] = interruptions === 0 ? [0, Number(job.turn)] : [backOffMs(interruptions), await lastTurn(em, job)]
    const again = { ...free, interruptions: interruptions + 1, error: interrupted, turn }
    await requeue(
      em,
      { id, lease, lock: skipLocked(em) },
      { ...again, run_at: later(filter.now, waitMs) },
      { ...again, state: 'failed', finished_at: filter.now },
    )
  }
}

type LostJob = Pick<ClaimedJob, 'id' | 'lease' | 'interruptions' | 'kind' | 'priority'> & { turn: number | string }

/** Returns a turn after those of all waiting jobs of the same kind and priority. */
async function lastTurn(em: EntityManager, { kind, priority, turn }: LostJob): Promise<number> {
  const sql = "select turn from jobs where kind = ? and state = 'queued' and priority = ? order by turn desc limit 1"
  const last = await readRow<{ turn: number | string }>(em.fork(), sql, [kind, priority])
  return Math.max(Number(last?.turn ?? 0) + turnMs, Number(turn))
}

const interrupted = 'The server ended while it ran this job.'

/** Returns the backoff in milliseconds: 10 seconds, multiplied by 4 for each retry, at most an hour, plus up to 10% jitter. */
export const backOffMs = (times: number): number => Math.min(10_000 * 4 ** (times - 1), 3_600_000) * (1 + Math.random() / 10)

/** Returns the locking clause. On PostgreSQL, callers skip rows locked by others. SQLite has a single writer. */
const skipLocked = (em: EntityManager) => (em.getPlatform() instanceof BasePostgreSqlPlatform ? 'for update of j skip locked' : '')

/** Claims the next job. Returns null if other callers claimed or locked all candidates. */
async function take(em: EntityManager, { leaseMs, ...filter }: ClaimFilter & { leaseMs: number }): Promise<ClaimedJob | null> {
  const next = nextJob(filter)
  const lease = random()
  const update = `update jobs set state = 'running', lease = ?, leased_until = ?, started_at = ?, attempts = attempts + 1, done = 0, total = null, phase = null
    where id = (select id ${next.sql} ${skipLocked(em)}) returning id, kind, subject, payload, attempts, interruptions, priority, owner`
  const values = [lease, later(filter.now, leaseMs), filter.now, ...next.values]
  const row = await withoutSync(() => readRow<Omit<ClaimedJob, 'lease'>>(em, update, values))
  return row ? { ...row, lease } : null
}

export type Progress = { done?: number | undefined; total?: number | null | undefined; phase?: string | undefined }

/** Renews the lease of a job, at least three times per lease, and saves its progress. Returns false if another process has taken over. */
export async function renew(em: EntityManager, held: ClaimedJob, now: Date, leaseMs: number, progress: Progress = {}): Promise<boolean> {
  return change(em, held, { ...columnsOf(progress), leased_until: later(now, leaseMs) })
}

/** Marks a job as done. Returns false if another process has taken over the job. */
export const finish = (em: EntityManager, held: ClaimedJob, now: Date, progress: Progress): Promise<boolean> =>
  change(em, held, { ...columnsOf(progress), ...free, state: 'done', finished_at: now, error: null })

/** Ends a failed attempt. The job is retried at `retryAt`, or fails permanently if that is null. */
export async function fail(em: EntityManager, held: ClaimedJob, now: Date, error: string, retryAt: Date | null): Promise<boolean> {
  const failed = { ...free, state: 'failed', finished_at: now, error }
  return retryAt === null ? change(em, held, failed) : requeue(em, held, { ...free, run_at: retryAt, error }, failed)
}

/** Requeues a job. If an equal job was enqueued in the meantime, which replaces this one, applies `otherwise` instead. */
async function requeue(em: EntityManager, held: Lease, queued: Changes, otherwise: Changes): Promise<boolean> {
  try {
    return await change(em, held, { ...queued, state: 'queued' })
  } catch (failure) {
    if (failure instanceof UniqueConstraintViolationException) return change(em, held, otherwise)
    throw failure
  }
}

/** Returns a job to the queue without counting the attempt. */
export const release = (em: EntityManager, held: ClaimedJob, now: Date): Promise<boolean> =>
  requeue(em, held, { ...free, run_at: now, attempts: held.attempts - 1 }, { leased_until: later(now, -1) })

/** Expires all leases, for use when the process that held them is known to be dead. */
export const releaseAll = (em: EntityManager, now: Date): Promise<number> =>
  em.nativeUpdate(Job, { state: 'running' }, { leasedUntil: later(now, -1) })

const free = { lease: null, leased_until: null }

/** A claimed job to update, identified by its lease. `lock` is the locking clause. */
type Lease = Pick<ClaimedJob, 'id' | 'lease'> & { lock?: string }
type Changes = Readonly<Record<string, Value>>

/** Returns the column values for the reported progress. Unreported columns keep their values. */
const columnsOf = ({ done, total, phase }: Progress): Record<string, Value> => ({
  ...(done !== undefined && { done }),
  ...(total !== undefined && { total }),
  ...(phase !== undefined && { phase }),
})

const later = (now: Date, ms: number) => new Date(now.getTime() + ms)

/** Updates a job if this process still holds its lease, without a disk sync: a completed job that a power failure loses runs again. */
async function change(em: EntityManager, { id, lease, lock = '' }: Lease, changes: Changes): Promise<boolean> {
  const columns = Object.keys(changes).map((column) => `${column} = ?`)
  const own = `select id from jobs j where id = ? and lease = ? and state = 'running' ${lock}`
  const sql = `update jobs set ${columns.join(', ')} where id = (${own})`
  return (await withoutSync(() => changeRows(em.fork(), sql, [...Object.values(changes), id, lease]))) > 0
}
