import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { Updateable } from 'kysely'
import { v4 as random } from 'uuid'
import { db, type Tables } from '../db/query.ts'
import { changeRows, readRow, readRows, skipLocked, withoutSync } from '../db/statements.ts'
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
  { own = [], isUrgent = false, backOffMs }: { own?: string[]; isUrgent?: boolean; backOffMs: BackOff },
): Promise<ClaimedJob | null> {
  // Usually no job is due. Check without writing.
  const filter = { kinds, now, own, isUrgent }
  const states = await findDue(em.fork(), filter)
  if (states.includes('running')) await requeueLost(em, filter, backOffMs)
  return states.length > 0 ? take(em.fork(), { ...filter, leaseMs }) : null
}

/** Returns the wait in milliseconds before an interrupted job runs again, by the number of interruptions. */
type BackOff = (times: number) => number
type ClaimFilter = { kinds: string[]; now: Date; own: string[]; isUrgent: boolean }
type ActionableState = 'running' | 'queued'

/** A query of the jobs whose lease has expired. */
const lostJobs = ({ kinds, now, own }: Omit<ClaimFilter, 'isUrgent'>) =>
  jobsOf(kinds, 'running', own).where('j.leased_until', '<', now).limit(maxRequeued)
const maxRequeued = 100

/** A query of the next job to claim. Uses an index. */
function nextJob({ kinds, now, own, isUrgent }: ClaimFilter) {
  const due = jobsOf(kinds, 'queued', own)
    .where('j.run_at', '<=', now)
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('jobs as r')
            .select('r.id')
            .whereRef('r.kind', '=', 'j.kind')
            .whereRef('r.subject', '=', 'j.subject')
            .where('r.state', '=', 'running'),
        ),
      ),
    )
    .where(({ eb, exists, not, or, selectFrom }) => {
      const running = selectFrom('jobs as r').select('r.id').whereRef('r.kind', '=', 'j.kind').where('r.state', '=', 'running')
      return or([eb('j.interruptions', '=', 0), not(exists(running.where('r.interruptions', '>', 0)))])
    })
    .limit(1)
  return isUrgent ? due.where('j.priority', '<=', 0) : due
}

/** A query of jobs in the order in which they are claimed. */
function jobsOf(kinds: string[], state: ActionableState, own: string[]) {
  const jobs = db
    .selectFrom('jobs as j')
    .where('j.kind', 'in', kinds)
    .where('j.state', '=', state)
    .orderBy('j.priority')
    .orderBy('j.turn')
    .orderBy('j.run_at')
    .orderBy('j.id')
  return own.length > 0 ? jobs.where('j.id', 'not in', own) : jobs
}

/** Returns `running` if jobs lost their lease, and `queued` if jobs are due. */
async function findDue(em: EntityManager, filter: ClaimFilter): Promise<string[]> {
  const lost = db.selectFrom(lostJobs(filter).select('j.state').as('lost')).select('lost.state').distinct()
  const waiting = db.selectFrom(nextJob(filter).select('j.state').as('waiting')).select('waiting.state')
  return (await readRows(em, lost.unionAll(waiting))).map(({ state }) => state)
}

/**
 * Requeues jobs whose process died or stopped renewing its lease. Counts an interruption, not a failed attempt. From the second interruption on, the
 * job waits before it runs again, and runs after all jobs of its kind and priority that are waiting: a job that crashes the server leaves time for
 * other jobs, and a server that is killed often interrupts each job a few times instead of the same one every time.
 */
export async function requeueLost(em: EntityManager, filter: Omit<ClaimFilter, 'isUrgent'>, backOffMs: BackOff): Promise<void> {
  const lost = await readRows(
    em.fork(),
    lostJobs(filter).select(['j.id', 'j.lease', 'j.interruptions', 'j.turn', 'j.kind', 'j.priority']).$narrowType<{ lease: string }>(),
  )
  for (const job of lost) {
    const { id, lease, interruptions } = job
    const [waitMs, turn] = interruptions === 0 ? [0, job.turn] : [backOffMs(interruptions), await lastTurn(em, job)]
    const again = { ...free, interruptions: interruptions + 1, error: interrupted, turn }
    await requeue(
      em,
      { id, lease, skipsLocked: true },
      { ...again, run_at: later(filter.now, waitMs) },
      { ...again, state: 'failed' as const, finished_at: filter.now },
    )
  }
}

/** Returns a turn after those of all waiting jobs of the same kind and priority. */
async function lastTurn(em: EntityManager, { kind, priority, turn }: Pick<Job, 'kind' | 'priority' | 'turn'>): Promise<number> {
  const turns = db.selectFrom('jobs').select('turn').where('kind', '=', kind).where('state', '=', 'queued').where('priority', '=', priority)
  const last = await readRow(em.fork(), turns.orderBy('turn', 'desc').limit(1))
  return Math.max((last?.turn ?? 0) + turnMs, turn)
}

const interrupted = 'The server ended while it ran this job.'

/** Claims the next job. Returns null if other callers claimed or locked all candidates. */
async function take(em: EntityManager, { leaseMs, ...filter }: ClaimFilter & { leaseMs: number }): Promise<ClaimedJob | null> {
  const lease = random()
  const update = db
    .updateTable('jobs')
    .set({ state: 'running', lease, leased_until: later(filter.now, leaseMs), started_at: filter.now, done: 0, total: null, phase: null })
    .set((eb) => ({ attempts: eb('attempts', '+', 1) }))
    .where('id', '=', skipLocked(em, nextJob(filter).select('j.id'), 'j'))
    .returning(['id', 'kind', 'subject', 'payload', 'attempts', 'interruptions', 'priority', 'owner'])
  const row = await withoutSync(() => readRow(em, update))
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
  const failed = { ...free, state: 'failed' as const, finished_at: now, error }
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

/** A claimed job to update, identified by its lease. Does nothing if `skipsLocked` and another process has locked it. */
type Lease = Pick<ClaimedJob, 'id' | 'lease'> & { skipsLocked?: boolean }
type Changes = Updateable<Tables['jobs']>

/** Returns the column values for the reported progress. Unreported columns keep their values. */
const columnsOf = ({ done, total, phase }: Progress): Changes => ({
  ...(done !== undefined && { done }),
  ...(total !== undefined && { total }),
  ...(phase !== undefined && { phase }),
})

const later = (now: Date, ms: number) => new Date(now.getTime() + ms)

/** Updates a job if this process still holds its lease, without a disk sync: a completed job that a power failure loses runs again. */
async function change(em: EntityManager, { id, lease, skipsLocked = false }: Lease, changes: Changes): Promise<boolean> {
  const own = db.selectFrom('jobs as j').select('j.id').where('j.id', '=', id).where('j.lease', '=', lease).where('j.state', '=', 'running')
  const update = db
    .updateTable('jobs')
    .set(changes)
    .where('id', '=', skipsLocked ? skipLocked(em, own, 'j') : own)
  return (await withoutSync(() => changeRows(em.fork(), update))) > 0
}
