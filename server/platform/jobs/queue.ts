// A custom queue, because existing libraries cannot commit a job with the change that needs it on both SQLite and PostgreSQL.
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { AsyncResource } from 'node:async_hooks'
import { newId } from '../db/base.ts'
import { type Reads, toDate } from '../db/reads.ts'
import { readRow } from '../db/statements.ts'
import { conflict, notFound } from '../../errors.ts'
import { Job, type JobState, jobStates } from './entity.ts'

export type NewJob = {
  kind: string
  /** What the job is about. If a job of this kind and subject is already waiting, it is updated instead of adding another one. */
  subject: string
  /** Input of the handler. Must match the handler's schema. */
  payload?: object | undefined
  /** Earliest start time. Defaults to now. */
  runAt?: Date | undefined
  /** Lower values run first. Defaults to 0. */
  priority?: number | undefined
  /** The account the job is done for. Owners take turns. */
  owner?: string | null | undefined
}

/** Distance between the turns of an owner's waiting jobs in milliseconds, longer than any job takes. */
export const turnMs = 3_600_000

/**
 * Returns SQL for the turn of an owner's next job; the parameters are the time in milliseconds, the kind and the owner. Without waiting jobs it is
 * the current time, so the job waits for at most one job of each other owner.
 */
export const nextTurn = (at: string, kind: string, owner: string): string =>
  `(select max(turn) from (select ${at} as turn union all
     select * from (select turn + ${turnMs} as turn from jobs where kind = ${kind} and owner = ${owner} and state = 'queued' order by turn desc limit 1) last) turns)`

/**
 * Enqueues a job in the transaction of `em` and returns its id. It runs at least once after the commit, with retries up to the limit of its handler.
 * Workers of this process wake up at once; others poll every few seconds.
 */
export async function enqueue(
  em: EntityManager,
  { kind, subject, payload = {}, runAt, priority = 0, owner = null }: NewJob,
  now: Date,
): Promise<string> {
  const isPostgres = em.getPlatform() instanceof BasePostgreSqlPlatform
  const turn = owner === null ? '?' : nextTurn(isPostgres ? 'cast(? as bigint)' : '?', '?', '?')
  const turnValues = owner === null ? [0] : [now.getTime(), kind, owner]

  const row = await readRow<{ id: string }>(
    em,
    `insert into jobs (id, created_at, kind, subject, payload, state, priority, run_at, owner, turn) values (?, ?, ?, ?, ?, 'queued', ?, ?, ?, ${turn})
     on conflict (kind, subject) where state = 'queued' do update set payload = excluded.payload,
       priority = case when excluded.priority < jobs.priority then excluded.priority else jobs.priority end,
       run_at = case when excluded.run_at < jobs.run_at then excluded.run_at else jobs.run_at end returning id`,
    [newId(), now, kind, subject, JSON.stringify(payload), priority, runAt ?? now, owner, ...turnValues],
  )
  if (!row) throw new Error(`The job ${kind} ${subject} was not stored`)
  wakeAfterCommit(em, row.id)
  return row.id
}

/** Returns the number of waiting, running and permanently failed jobs. */
export async function countJobs(reads: Reads): Promise<Record<'queued' | 'running' | 'failed', number>> {
  const rows = await reads.all<{ state: 'queued' | 'running' | 'failed'; total: number | string }>(
    `select state, count(*) as total from jobs where state in ('queued', 'running', 'failed') group by state`,
  )
  // PostgreSQL returns counts as strings.
  return { queued: 0, running: 0, failed: 0, ...Object.fromEntries(rows.map(({ state, total }) => [state, Number(total)])) }
}

/**
 * Retries a permanently failed job with all its attempts.
 * @throws ApiError NotFound; Conflict if the job has not failed or an equal job is waiting.
 */
export async function retryJob(em: EntityManager, id: string, now: Date): Promise<Job> {
  try {
    return await em.fork().transactional(async (inner) => {
      const changes = {
        state: 'queued',
        attempts: 0,
        interruptions: 0,
        runAt: now,
        finishedAt: null,
        done: 0,
        total: null,
        phase: null,
      } as const
      const changed = await inner.nativeUpdate(Job, { id, state: 'failed' }, changes)
      const job = await inner.findOne(Job, { id })
      if (!job) throw notFound('There is no job with this id.')
      if (!changed) throw conflict(`Only failed jobs can be retried. This job is ${job.state}.`)
      wakeAfterCommit(inner, id)
      return job
    })
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw conflict('Another job of the same kind and subject is already queued.')
    throw error
  }
}

const dayMs = 24 * 3_600_000

/** Deletes jobs that were completed 7 days ago or failed permanently 90 days ago. Returns their number. */
export function collectJobs(em: EntityManager, now: Date): Promise<number> {
  const ago = (days: number) => new Date(now.getTime() - days * dayMs)
  return em.nativeDelete(Job, {
    $or: [
      { state: 'done', finishedAt: { $lt: ago(7) } },
      { state: 'failed', finishedAt: { $lt: ago(90) } },
    ],
  })
}

/** Listeners of this process's workers, by database driver: a change enqueues jobs with only its entity manager at hand. */
const listeners = new WeakMap<object, Set<() => void>>()

/** Calls `listener` after each commit of this process that enqueues a job. Returns a function that unsubscribes. */
export function onJobCommitted(em: EntityManager, listener: () => void): () => void {
  // Run outside of the caller's async context. Otherwise, the ORM would run the listener's statements in the caller's transaction.
  const wake = AsyncResource.bind(listener)
  const driver = em.getDriver()
  const heard = listeners.get(driver) ?? new Set()
  listeners.set(driver, heard.add(wake))
  return () => void heard.delete(wake)
}

const keepers = new WeakMap<object, (id: string) => void>()

/** Calls `keep` with the id of each job that this process enqueues, in the async context of the caller. */
export const onEnqueued = (em: EntityManager, keep: (id: string) => void): void => void keepers.set(em.getDriver(), keep)

/** Wakes this process's workers when the transaction of `em`, which enqueued a job, is committed. Wakes them at once if there is no transaction. */
export function wakeAfterCommit(em: EntityManager, jobId?: string): void {
  if (jobId !== undefined) keepers.get(em.getDriver())?.(jobId)
  const wakeAll = () => {
    for (const wake of listeners.get(em.getDriver()) ?? []) wake()
  }
  // The entity manager of a transaction has its own event manager.
  if (em.isInTransaction()) em.getEventManager().registerSubscriber({ afterTransactionCommit: wakeAll })
  else wakeAll()
}

/** Number of waiting, running and failed jobs by kind. */
type Backlog = {
  counts: { kind: string; state: 'queued' | 'running' | 'failed'; total: number }[]
  /** Age in seconds of the oldest due job; 0 if no job is due. */
  oldestDueSeconds: number
}

/** Jobs of one kind in one state. */
export type JobGroup = { kind: string; state: JobState; count: number }

/** Returns the number of jobs by kind and state, up to 10,000 each. Groups without jobs are left out. */
export async function readJobGroups(reads: Reads): Promise<JobGroup[]> {
  const rows = await reads.all<{ kind: string; state: JobState; total: number | string }>(countSqlOf(jobStates))
  return rows.map(({ total, kind, state }) => ({ kind, state, count: Number(total) })).filter(({ count }) => count > 0)
}

/** Maximum count per kind and state, which bounds the cost of counting. */
const maxCount = 10_000

/** Returns the backlog of the workers. Each queue is counted up to 10,000, so the cost does not grow with its length. */
export async function readBacklog(reads: Reads, now: Date): Promise<Backlog> {
  const rows = await reads.all<{ kind: string; state: 'queued' | 'running' | 'failed'; total: number | string }>(
    countSqlOf(['queued', 'running', 'failed']),
  )
  const oldest = await reads.get<{ run_at: number | string | Date | null }>("select min(run_at) as run_at from jobs where state = 'queued'")
  const dueMs = oldest?.run_at == null ? 0 : now.getTime() - toDate(oldest.run_at).getTime()
  // PostgreSQL returns counts as strings.
  return { counts: rows.map(({ total, ...row }) => ({ ...row, total: Number(total) })), oldestDueSeconds: Math.max(dueMs, 0) / 1000 }
}

// Finds the kinds by one index lookup each (loose index scan).
const countSqlOf = (states: readonly JobState[]) => `with recursive kinds (kind) as (
    select min(kind) from jobs union all select (select min(kind) from jobs where kind > kinds.kind) from kinds where kinds.kind is not null)
  select kinds.kind, states.state,
    (select count(*) from (select 1 from jobs where jobs.kind = kinds.kind and jobs.state = states.state limit ${maxCount}) counted) as total
  from kinds cross join (${states.map((state) => `select '${state}' as state`).join(' union all ')}) states
  where kinds.kind is not null`
