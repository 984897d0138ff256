import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { v4 as random } from 'uuid'
import { changeRows, readRow, type Value } from '../db/statements.ts'
import { unforced } from '../db/unforced.ts'
import { Job } from './entity.ts'

/** A job that this process holds. */
export type Held = Pick<Job, 'id' | 'kind' | 'subject' | 'payload' | 'attempts'> & { lease: string }

/**
 * Takes a job of these kinds: one whose holder let its lease run out, else of those that wait and are due the one with the lowest priority, and
 * among those the one that has been due for longest. Null when there is none. However many ask at once, each gets another one; and none while
 * another job for the same is running. Whoever asks does not get what it is doing itself (`own`, by id), even if the clock was put forward
 * meanwhile. For one kind the cost does not depend on how many wait; several are sorted.
 */
export async function claim(em: EntityManager, kinds: string[], now: Date, leaseMs: number, own: string[] = []): Promise<Held | null> {
  // Most often there is none, which needs no transaction to see.
  if (!(await findDue(em.fork(), kinds, now, own))) return null
  const take = async (inner: EntityManager) => {
    // On PostgreSQL, each passes over what another one is just taking; SQLite has one writer.
    const lock = inner.getPlatform() instanceof BasePostgreSqlPlatform ? 'for update of j skip locked' : ''
    const job = await findDue(inner, kinds, now, own, lock)
    if (!job) return null
    const lease = random()
    await changeRows(
      inner,
      `update jobs set state = 'running', lease = ?, leased_until = ?, started_at = ?, attempts = attempts + 1, done = 0, total = null, phase = null
       where id = ?`,
      [lease, later(now, leaseMs), now, job.id],
    )
    return { ...job, attempts: job.attempts + 1, lease }
  }
  return unforced(() => em.fork().transactional(take))
}

/** The job to take next: in two statements, since each finds its own by an index. */
async function findDue(em: EntityManager, kinds: string[], now: Date, own: string[], lock = ''): Promise<Omit<Held, 'lease'> | undefined> {
  const among = (values: string[]) => `(${values.map(() => '?').join(', ')})`
  const find = (due: string) =>
    readRow<Omit<Held, 'lease'>>(
      em,
      `select id, kind, subject, payload, attempts from jobs j where kind in ${among(kinds)} and ${due}
         ${own.length > 0 ? `and id not in ${among(own)}` : ''}
         and not exists (select 1 from jobs r where r.kind = j.kind and r.subject = j.subject and r.state = 'running' and r.id <> j.id)
       order by priority, run_at, id limit 1 ${lock}`,
      [...kinds, now, ...own],
    )
  return (await find("state = 'running' and leased_until < ?")) ?? (await find("state = 'queued' and run_at <= ?"))
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
  if (retryAt === null) return change(em, held, failed)
  try {
    return await change(em, held, { ...free, state: 'queued', run_at: retryAt, error })
  } catch (failure) {
    // The same was asked for again meanwhile: that one will do it.
    if (failure instanceof UniqueConstraintViolationException) return change(em, held, failed)
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
async function change(em: EntityManager, { id, lease }: Held, changes: Readonly<Record<string, Value>>): Promise<boolean> {
  const columns = Object.keys(changes).map((column) => `${column} = ?`)
  const sql = `update jobs set ${columns.join(', ')} where id = ? and lease = ? and state = 'running'`
  return (await unforced(() => changeRows(em.fork(), sql, [...Object.values(changes), id, lease]))) > 0
}
