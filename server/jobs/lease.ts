import { type FilterQuery, LockMode, raw, UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { v4 as random } from 'uuid'
import { Job } from './entity.ts'

/** A job that this process holds. */
export type Held = Pick<Job, 'id' | 'kind' | 'subject' | 'payload' | 'attempts'> & { lease: string }

/**
 * Takes a job of these kinds: one whose holder let its lease run out, else of those that wait and are due the one with the lowest priority, and
 * among those the one that has been due for longest. Null when there is none. However many ask at once, each gets another one; and none while
 * another job for the same is running. Whoever asks does not get what it is doing itself (`own`, by id), even if the clock was put forward
 * meanwhile. For one kind the cost does not depend on how many wait; several are sorted.
 */
export function claim(em: EntityManager, kinds: string[], now: Date, leaseMs: number, own: string[] = []): Promise<Held | null> {
  return em.fork().transactional(async (inner) => {
    const find = (due: FilterQuery<Job>) =>
      inner.findOne(
        Job,
        { $and: [{ kind: { $in: kinds }, ...(own.length > 0 && { id: { $nin: own } }) }, due, { [raw(isAlone)]: [] }] },
        // `for update skip locked`, on PostgreSQL; SQLite has one writer.
        { orderBy: { priority: 'asc', runAt: 'asc', id: 'asc' }, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
      )
    const job = (await find({ state: 'running', leasedUntil: { $lt: now } })) ?? (await find({ state: 'queued', runAt: { $lte: now } }))
    if (!job) return null
    const lease = random()
    inner.assign(job, { state: 'running', lease, leasedUntil: later(now, leaseMs), startedAt: now, attempts: job.attempts + 1 })
    inner.assign(job, { done: 0, total: null, phase: null })
    const { id, kind, subject, payload, attempts } = job
    return { id, kind, subject, payload, attempts, lease }
  })
}

/** SQL: whether no other job for the same is running. */
const isAlone = (alias: string) =>
  `not exists (select 1 from jobs r where r.kind = ${alias}.kind and r.subject = ${alias}.subject and r.state = 'running' and r.id <> ${alias}.id)`

export type Progress = { done?: number | undefined; total?: number | null | undefined; phase?: string | undefined }

/** Holds on to a job, and says how far it is: attempt.ts does so at least three times in each lease of worker.ts. False when somebody else has it by now. */
export async function renew(em: EntityManager, held: Held, now: Date, leaseMs: number, progress: Progress = {}): Promise<boolean> {
  return change(em, held, { ...progress, leasedUntil: later(now, leaseMs) })
}

/** Ends a job well. False when somebody else has it by now. */
export const finish = (em: EntityManager, held: Held, now: Date, progress: Progress): Promise<boolean> =>
  change(em, held, { ...progress, ...free, state: 'done', finishedAt: now, error: null })

/** Ends an attempt that failed: the job waits until `retryAt`, or has failed for good when that is null. */
export async function fail(em: EntityManager, held: Held, now: Date, error: string, retryAt: Date | null): Promise<boolean> {
  const failed = { ...free, state: 'failed', finishedAt: now, error } as const
  if (retryAt === null) return change(em, held, failed)
  try {
    return await change(em, held, { ...free, state: 'queued', runAt: retryAt, error })
  } catch (failure) {
    // The same was asked for again meanwhile: that one will do it.
    if (failure instanceof UniqueConstraintViolationException) return change(em, held, failed)
    throw failure
  }
}

/** Gives a job back as if it had not been tried. */
export async function release(em: EntityManager, held: Held, now: Date): Promise<boolean> {
  try {
    return await change(em, held, { ...free, state: 'queued', runAt: now, attempts: held.attempts - 1 })
  } catch (failure) {
    if (failure instanceof UniqueConstraintViolationException) return change(em, held, { leasedUntil: later(now, -1) })
    throw failure
  }
}

/** Lets go of whatever a process held that is known to be dead, so that nobody waits for its leases to run out. */
export const releaseAll = (em: EntityManager, now: Date): Promise<number> =>
  em.nativeUpdate(Job, { state: 'running' }, { leasedUntil: later(now, -1) })

const free = { lease: null, leasedUntil: null }

const later = (now: Date, ms: number) => new Date(now.getTime() + ms)

/** Whoever took a job over has another lease: then nothing is changed. */
async function change(em: EntityManager, { id, lease }: Held, changes: Partial<Omit<Job, 'id' | 'createdAt'>>): Promise<boolean> {
  return (await em.fork().nativeUpdate(Job, { id, lease, state: 'running' }, changes)) > 0
}
