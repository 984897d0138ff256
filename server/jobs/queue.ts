// By hand on purpose: a job is committed with the change that wants it, on SQLite and on PostgreSQL alike. Queues that are libraries serve one
// of the two, or need a server of their own.
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { newId } from '../db/base.ts'
import type { Reads } from '../db/reads/reads.ts'
import { readRow } from '../db/statements.ts'
import { conflict, notFound } from '../errors.ts'
import { Job } from './entity.ts'
import { wakeAfterCommit } from './wake.ts'

export type NewJob = {
  kind: string
  /** What it is about; while a job of this kind and subject waits, asking for another one changes that. */
  subject: string
  /** What its handler needs; it must fit the handler's schema. */
  payload?: object | undefined
  /** Not before this moment; at once, unless said otherwise. */
  runAt?: Date | undefined
  /** The lowest first; 0 unless said otherwise. */
  priority?: number | undefined
  /** The account that it is done for: owners take turns. */
  owner?: string | null | undefined
}

/** Of an owner's waiting jobs, each has its turn so long after the one before: longer than any of them takes. */
export const turnMs = 3_600_000

/**
 * SQL for the turn of another job of an owner, whose parameters are the present moment in milliseconds, the kind and the owner. An owner with
 * nothing waiting has its turn now, so it waits for one job of every other owner at most, however many those have waiting.
 */
export const nextTurn = (at: string, kind: string, owner: string): string =>
  `(select max(turn) from (select ${at} as turn union all
     select * from (select turn + ${turnMs} as turn from jobs where kind = ${kind} and owner = ${owner} and state = 'queued' order by turn desc limit 1) last) turns)`

/**
 * Enqueues a job in the transaction of `em`: it runs after the commit, at least once, or never when that fails. Gives its id.
 * A worker in this process is told of the commit; others poll every few seconds. A job that fails is tried again by attempt.ts, with a longer
 * wait each time, as often as its handler says (handler.ts).
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

/** How many jobs wait, run and have failed for good. */
export async function countJobs(reads: Reads): Promise<Record<'queued' | 'running' | 'failed', number>> {
  const rows = await reads.all<{ state: 'queued' | 'running' | 'failed'; total: number | string }>(
    `select state, count(*) as total from jobs where state in ('queued', 'running', 'failed') group by state`,
  )
  // PostgreSQL counts in texts.
  return { queued: 0, running: 0, failed: 0, ...Object.fromEntries(rows.map(({ state, total }) => [state, Number(total)])) }
}

/**
 * Lets a job that failed for good have all its attempts again.
 * @throws ApiError NotFound; Conflict when it did not fail, or another one for the same waits.
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
      if (!changed) throw conflict(`Only failed jobs are tried again; this one is ${job.state}.`)
      wakeAfterCommit(inner, id)
      return job
    })
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw conflict('Another job for the same is waiting already.')
    throw error
  }
}

const dayMs = 24 * 3_600_000

/** Forgets jobs that were done a week ago, and those that failed for good a quarter ago. Gives their number. */
export function collectJobs(em: EntityManager, now: Date): Promise<number> {
  const ago = (days: number) => new Date(now.getTime() - days * dayMs)
  return em.nativeDelete(Job, {
    $or: [
      { state: 'done', finishedAt: { $lt: ago(7) } },
      { state: 'failed', finishedAt: { $lt: ago(90) } },
    ],
  })
}
