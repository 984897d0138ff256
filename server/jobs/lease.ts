import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { v4 as random } from 'uuid'
import { changeRows, readRow, readRows, type Value } from '../db/statements.ts'
import { unforced } from '../db/sqlite/unforced.ts'
import { Job } from './entity.ts'

/** A job that this process holds. */
export type Held = Pick<Job, 'id' | 'kind' | 'subject' | 'payload' | 'attempts' | 'priority'> & { lease: string }

/**
 * Takes a job of these kinds: one whose holder let its lease run out, else of those that wait and are due the one with the lowest priority, and
 * among those the one that has been due for longest. Null when there is none, but for what somebody else has locked just now. However many ask at
 * once, each gets another one; and none while another job for the same is running. Whoever asks does not get what it is doing itself (`own`, by
 * id), even if the clock was put forward meanwhile, and with `isUrgent` nothing that may take its time. For one kind the cost does not depend on how many wait; several are sorted.
 */
export async function claim(
  em: EntityManager,
  kinds: string[],
  now: Date,
  leaseMs: number,
  { own = [], isUrgent = false }: { own?: string[]; isUrgent?: boolean } = {},
): Promise<Held | null> {
  // Most often there is none, which is seen without writing.
  for (const state of await findDue(em.fork(), { kinds, now, own, isUrgent })) {
    const held = await take(em.fork(), state, { kinds, now, own, isUrgent, leaseMs })
    if (held) return held
  }
  return null
}

type Wanted = { kinds: string[]; now: Date; own: string[]; isUrgent: boolean }
type Takeable = 'running' | 'queued'

/** Jobs in a state that may be taken, the next one first: each state finds its own by an index. */
function due(state: Takeable, { kinds, now, own, isUrgent }: Wanted): { sql: string; values: Value[] } {
  const among = (values: string[]) => `(${values.map(() => '?').join(', ')})`
  const sql = `from jobs j where kind in ${among(kinds)} and state = '${state}' and ${state === 'running' ? 'leased_until < ?' : 'run_at <= ?'}
      ${own.length > 0 ? `and id not in ${among(own)}` : ''} ${isUrgent ? 'and priority <= 0' : ''}
      and not exists (select 1 from jobs r where r.kind = j.kind and r.subject = j.subject and r.state = 'running' and r.id <> j.id)
    order by priority, run_at, id limit 1`
  return { sql, values: [...kinds, now, ...own] }
}

/** The states that have a job to take, in the order in which to look. */
async function findDue(em: EntityManager, wanted: Wanted): Promise<Takeable[]> {
  const [lost, waiting] = [due('running', wanted), due('queued', wanted)]
  const sql = `select state from (select state ${lost.sql}) lost union all select state from (select state ${waiting.sql}) waiting order by state desc`
  return (await readRows<{ state: Takeable }>(em, sql, [...lost.values, ...waiting.values])).map(({ state }) => state)
}

/** Takes the next job in a state; null when somebody else was faster, or has all of them locked. */
async function take(em: EntityManager, state: Takeable, { leaseMs, ...wanted }: Wanted & { leaseMs: number }): Promise<Held | null> {
  const next = due(state, wanted)
  // On PostgreSQL, each passes over what another one is just taking; SQLite has one writer.
  const lock = em.getPlatform() instanceof BasePostgreSqlPlatform ? 'for update of j skip locked' : ''
  const lease = random()
  const update = `update jobs set state = 'running', lease = ?, leased_until = ?, started_at = ?, attempts = attempts + 1, done = 0, total = null, phase = null
    where id = (select id ${next.sql} ${lock}) returning id, kind, subject, payload, attempts, priority`
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
