import type { EntityManager } from '@mikro-orm/sql'
import { conflict } from '../../errors.ts'
import type { SignedInContext } from '../access/context.ts'
import { db } from '../db/query.ts'
import { changeRows } from '../db/statements.ts'
import { isRejectedForMove } from '../db/unavailable.ts'
import type { Services } from '../../services.ts'
import type { Job } from './entity.ts'
import { describeFailure, outageOf, type FailureLog } from './failure.ts'
import { type Handler, PermanentFailure, type Work } from './handler.ts'
import { fail, finish, type ClaimedJob, type Progress, release, renew } from './lease.ts'
import { findJob } from './queue.ts'

type Context = Pick<Services, 'database' | 'log' | 'metrics' | 'tracing' | 'now'> & { leaseMs: number; failures: FailureLog }

/** A running attempt. */
export type Attempt = { held: ClaimedJob; ended: Promise<void>; stop: () => void; abandon: () => Promise<void> }

/** Maximum interval between lease renewals in milliseconds. A renewal also detects cancellation. */
const renewMs = 5000
/** Minimum interval between progress updates in milliseconds. */
const progressMs = 1000
const maxErrorLength = 1000

/** Runs a claimed job and renews its lease. Never rejects: failures are recorded with the job and logged. */
export function attempt(context: Context, handler: Handler, held: ClaimedJob): Attempt {
  const { database, now, leaseMs } = context
  const controller = new AbortController()
  const reported: Progress = {}
  let stopping = false
  let writtenAt = Date.now()
  const renewLease = async () => {
    writtenAt = Date.now()
    if (!(await renew(database.fork(), held, now(), leaseMs, reported)))
      controller.abort(new Error('The job was cancelled or taken over by another process.'))
  }
  const renewInBackground = () => void renewLease().catch((error: unknown) => logRenewalFailure(context, held, error))
  const timer = setInterval(renewInBackground, Math.min(renewMs, leaseMs / 3))
  timer.unref()
  const progress = (latest: Progress) => {
    if (controller.signal.aborted) return
    Object.assign(reported, latest)
    if (Date.now() - writtenAt >= progressMs) renewInBackground()
  }
  const { kind, subject, owner = null } = held
  const work = { kind, subject, owner, attempt: attemptsOf(held), signal: controller.signal, progress }
  const run = async (): Promise<Outcome> => {
    try {
      await runHandler(handler, held, work)
      await finish(database.fork(), held, now(), reported)
      return 'done'
    } catch (error) {
      if (!stopping) return await record(context, handler, held, error)
      await release(database.fork(), held, now())
      return 'interrupted'
    }
  }
  const ended = observed(context, held, run).finally(() => clearInterval(timer))
  const stop = () => {
    stopping = true
    controller.abort(new Error('The server is stopping.'))
  }
  return { held, ended, stop, abandon: async () => void (await release(database.fork(), held, now())) }
}

function logRenewalFailure({ log, failures }: Context, { id, kind }: ClaimedJob, error: unknown): void {
  if (isRejectedForMove(error)) return
  if (outageOf(error) !== null) failures.failed(kind, error, (text) => `job ${id}: cannot renew its lease: ${text}`)
  else log.warning(`job ${id}: cannot renew its lease: ${String(error)}`)
}

/** Outcome of an attempt. `retried` and `interrupted` jobs run again. */
type Outcome = 'done' | 'retried' | 'failed' | 'interrupted'

async function observed({ failures, log, metrics, tracing }: Context, held: ClaimedJob, run: () => Promise<Outcome>): Promise<void> {
  const began = performance.now()
  try {
    const outcome = await (tracing ? tracing.attempt(held, run) : run())
    if (outcome === 'done') failures.worked(held.kind)
    const ms = performance.now() - began
    log.debug(`job ${held.id} (${held.kind} ${held.subject}): ${outcome} after ${Math.round(ms)}ms`)
    metrics?.countAttempt(held.kind, outcome, ms / 1000)
  } catch (error) {
    failures.failed(held.kind, error, (text) => `job ${held.id}: cannot record how it ended: ${text}`)
  }
}

/**
 * Maximum number of interruptions, so that a job that crashes the server does not run forever. With the waits between them, a job reaches it only
 * after hours, so that a server that others kill often does not end it.
 */
const maxInterruptions = 10

/** Returns the backoff in milliseconds: 10 seconds, multiplied by 4 for each retry, at most an hour, plus up to 10% jitter. */
export const backOffMs = (times: number): number => Math.min(10_000 * 4 ** (times - 1), 3_600_000) * (1 + Math.random() / 10)

/** Returns the number of this attempt without interrupted ones. A killed server cannot record why its jobs ended. */
const attemptsOf = ({ attempts, interruptions }: ClaimedJob): number => Math.max(attempts - interruptions, 1)

async function runHandler(handler: Handler, { interruptions, payload }: ClaimedJob, work: Work): Promise<void> {
  if (interruptions >= maxInterruptions) throw new PermanentFailure(`The server ended ${interruptions} times while it ran this job.`)
  await handler.run(work, JSON.parse(payload))
}

async function record(
  { database, log, now, failures }: Context,
  { maxAttempts, onPermanentFailure }: Handler,
  held: ClaimedJob,
  error: unknown,
): Promise<Outcome> {
  const { id, kind, subject } = held
  const attempts = attemptsOf(held)
  const isFinal = attempts >= maxAttempts || error instanceof PermanentFailure
  const retryAt = isFinal ? null : new Date(now().getTime() + backOffMs(attempts))
  const line = (text: string) => `job ${id} (${kind} ${subject}), attempt ${attempts} of ${maxAttempts}: ${text}`
  if (isFinal) log.error(line(describeFailure(error).text))
  else failures.failed(kind, error, line)
  const message = (error instanceof Error ? error.message : String(error)).replace(/[\p{Cc}\s]+/gu, ' ')
  const shown = message.slice(0, maxErrorLength) || 'The job failed without an error message.'
  const isOurs = await fail(database.fork(), held, now(), shown, retryAt)
  if (isFinal && isOurs) await onPermanentFailure?.(subject, shown)
  return isFinal ? 'failed' : 'retried'
}

/**
 * Deletes a queued job, or fails a running one, whose worker notices at its next renewal of the lease.
 * @throws ApiError NotFound; Conflict if the job has already ended.
 */
export async function cancelJob(context: SignedInContext, id: string): Promise<void> {
  const { em, viewer, now } = context
  const { kind, subject } = await findJob(em, id)
  const onCancel = context.jobHandlers(context)[kind]?.onCancel
  await em.fork().transactional(async (inner) => {
    await onCancel?.lock(inner, subject)
    const job = await lockJob(inner, id)
    if (job.state !== 'queued' && job.state !== 'running')
      throw conflict(`Only queued or running jobs can be cancelled. This job is ${job.state}.`)
    const error = `Cancelled by ${viewer.displayName}.`
    if (job.state === 'queued') inner.remove(job)
    else inner.assign(job, { state: 'failed', lease: null, leasedUntil: null, finishedAt: now(), error })
    await onCancel?.record(inner, job, error, now())
    context.afterJobCancelled(inner, job, context)
  })
}

/** Locks a job, starting with a write: on SQLite, a transaction that starts with a read cannot write after another has committed. */
async function lockJob(em: EntityManager, id: string): Promise<Job> {
  const unchanged = db.updateTable('jobs').set(({ ref }) => ({ attempts: ref('attempts') }))
  await changeRows(em, unchanged.where('id', '=', id))
  return findJob(em, id)
}
