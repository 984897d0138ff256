// A custom queue, because existing libraries cannot commit a job with the change that needs it on both SQLite and PostgreSQL.
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { type AliasableExpression, type Expression, expressionBuilder, sql } from 'kysely'
import { AsyncResource } from 'node:async_hooks'
import { newId } from '../db/base.ts'
import { db, type Tables } from '../db/query.ts'
import type { Reads } from '../db/reads.ts'
import { asId, readRow, readRows, timeAfter } from '../db/statements.ts'
import { conflict, notFound } from '../../errors.ts'
import { Job } from './entity.ts'

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

const eb = expressionBuilder<Tables>()

/** The turn of an owner's next job. Without waiting jobs it is the current time, so the job waits for at most one job of each other owner. */
function turnOf(kind: string, owner: string, now: Date) {
  const last = db
    .selectFrom('jobs')
    .select(({ eb: each }) => each('turn', '+', turnMs).as('turn'))
    .where('kind', '=', kind)
    .where('owner', '=', owner)
    .where('state', '=', 'queued')
    .orderBy('turn', 'desc')
    .limit(1)
  const turns = db
    .selectNoFrom(eb.cast<number>(eb.val(now.getTime()), 'bigint').as('turn'))
    .unionAll(db.selectFrom(last.as('last')).selectAll())
  return db.selectFrom(turns.as('turns')).select(({ fn }) => fn.max<number>('turn').as('turn'))
}

/**
 * Enqueues a job in the transaction of `em` and returns its id. It runs at least once after the commit, with retries up to the limit of its handler.
 * Workers of this process wake up at once; others poll every few seconds.
 */
export async function enqueue(
  em: EntityManager,
  { kind, subject, payload = {}, runAt, priority = 0, owner = null }: NewJob,
  now: Date,
): Promise<string> {
  const turn = owner === null ? 0 : turnOf(kind, owner, now)
  const job = { kind, subject, payload: JSON.stringify(payload), state: 'queued', priority, owner, turn } as const
  const insert = db
    .insertInto('jobs')
    .values({ id: newId(), created_at: now, run_at: runAt ?? now, ...job })
    .onConflict((already) =>
      already
        .columns(['kind', 'subject'])
        .where('state', '=', sql.lit('queued'))
        .doUpdateSet({
          payload: ({ ref }) => ref('excluded.payload'),
          priority: ({ ref }) => lesser(ref('excluded.priority'), ref('jobs.priority')),
          run_at: ({ ref }) => lesser(ref('excluded.run_at'), ref('jobs.run_at')),
        }),
    )
  const row = await readRow(em, insert.returning('id'))
  if (!row) throw new Error(`The job ${kind} ${subject} was not stored`)
  wakeAfterCommit(em, row.id)
  return row.id
}

/** The lesser of two values. */
const lesser = <Value>(one: Expression<Value>, other: Expression<Value>) =>
  sql<Value>`case when ${one} < ${other} then ${one} else ${other} end`

/** A query of what jobs are about: the ids of rows. The jobs run in the order of `place`, from 0. */
type Subjects = AliasableExpression<{ subject: string; place: number }>

/**
 * Enqueues a job for each row of a query in one statement, in the transaction of `em`, unless an equal job is waiting. Returns their number. Places
 * order the jobs of an owner by their turns, and those without owner by their start times, one millisecond apart.
 */
export async function enqueueFrom(em: EntityManager, job: Omit<NewJob, 'subject'>, subjects: Subjects, now: Date): Promise<number> {
  const insert = db
    .insertInto('jobs')
    .columns(['id', 'created_at', 'kind', 'subject', 'payload', 'state', 'priority', 'run_at', 'owner', 'turn'])
    .expression(jobsFrom(em, job, subjects, now))
    .onConflict((already) => already.doNothing())
  const queued = await readRows(em, insert.returning('id'))
  for (const { id } of queued) keepers.get(em.getDriver())?.(id)
  if (queued.length > 0) wakeAfterCommit(em)
  return queued.length
}

function jobsFrom(em: EntityManager, job: Omit<NewJob, 'subject'>, subjects: Subjects, now: Date) {
  const { kind, payload = {}, runAt = now, priority = 0, owner = null } = job
  return (
    db
      .selectFrom(subjects.as('s'))
      .select(({ val, ref, lit }) => [
        asId(em, sql`${newId().slice(0, idTimeLength)} || substr(${ref('s.subject')}, ${lit(idTimeLength + 1)})`).as('id'),
        val(now).as('created_at'),
        val(kind).as('kind'),
        's.subject',
        val(JSON.stringify(payload)).as('payload'),
        sql.lit('queued').as('state'),
        val(priority).as('priority'),
        (owner === null ? timeAfter(em, val(runAt), ref('s.place')) : sql<Date>`${runAt}`).as('run_at'),
        val(owner).as('owner'),
        (owner === null ? sql.lit(0) : sql<number>`${turnOf(kind, owner, now)} + ${turnMs} * ${ref('s.place')}`).as('turn'),
      ])
      // SQLite takes `on conflict` for a part of a join if there is no condition.
      .where(eb.lit(true))
  )
}

/** Length of the time prefix of an id, in characters. The rest of a new id is that of the subject. */
const idTimeLength = 15

/** Returns the number of waiting, running and permanently failed jobs. */
export async function countJobs(reads: Reads): Promise<Record<'queued' | 'running' | 'failed', number>> {
  const rows = await reads.all(
    db
      .selectFrom('jobs')
      .select(({ fn }) => ['state', fn.countAll<number>().as('total')])
      .where('state', 'in', ['queued', 'running', 'failed'])
      .groupBy('state'),
  )
  return { queued: 0, running: 0, failed: 0, ...Object.fromEntries(rows.map(({ state, total }) => [state, total])) }
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
      const job = await findJob(inner, id)
      if (!changed) throw conflict(`Only failed jobs can be retried. This job is ${job.state}.`)
      wakeAfterCommit(inner, id)
      return job
    })
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw conflict('Another job of the same kind and subject is already queued.')
    throw error
  }
}

/** Loads a job. @throws ApiError NotFound. */
export async function findJob(em: EntityManager, id: string): Promise<Job> {
  const job = await em.findOne(Job, { id })
  if (!job) throw notFound('There is no job with this id.')
  return job
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
