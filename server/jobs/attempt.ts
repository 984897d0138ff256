import { isRefusedForMove } from '../db/unavailable.ts'
import type { Services } from '../services.ts'
import { describeFailure } from './failure.ts'
import { type Handler, PermanentFailure, type Work } from './handler.ts'
import { fail, finish, type Held, type Progress, release, renew } from './lease.ts'

type Circumstances = Pick<Services, 'database' | 'log' | 'metrics' | 'tracing' | 'now'> & { leaseMs: number }

/** An attempt that is under way. */
export type Attempt = { held: Held; ended: Promise<void>; stop: () => void; abandon: () => Promise<void> }

/** How often it is looked at whether the job is still held, at least: it may have been cancelled. */
const renewMs = 5000
/** How often progress is written down. */
const progressMs = 1000
const maxErrorLength = 1000

/** Runs a job that is held, renewing its lease meanwhile. It never rejects: what goes wrong is recorded with the job, and logged. */
export function attempt(circumstances: Circumstances, handler: Handler, held: Held): Attempt {
  const { database, now, leaseMs } = circumstances
  const controller = new AbortController()
  const reported: Progress = {}
  let stopping = false
  let writtenAt = Date.now()
  const holdOn = async () => {
    writtenAt = Date.now()
    if (!(await renew(database.fork(), held, now(), leaseMs, reported)))
      controller.abort(new Error('The job was cancelled, or another process has taken it over.'))
  }
  const quietly = () => void holdOn().catch((error: unknown) => tellUnrenewed(circumstances, held, error))
  const timer = setInterval(quietly, Math.min(renewMs, leaseMs / 3))
  timer.unref()
  const progress = (latest: Progress) => {
    controller.signal.throwIfAborted()
    Object.assign(reported, latest)
    if (Date.now() - writtenAt >= progressMs) quietly()
  }
  const work = { kind: held.kind, subject: held.subject, attempt: held.attempts, signal: controller.signal, progress }
  const run = async (): Promise<Outcome> => {
    try {
      await runHandler(handler, held, work)
      await finish(database.fork(), held, now(), reported)
      return 'done'
    } catch (error) {
      if (!stopping) return await record(circumstances, handler, held, error)
      await release(database.fork(), held, now())
      return 'interrupted'
    }
  }
  const ended = observed(circumstances, held, run).finally(() => clearInterval(timer))
  const stop = () => {
    stopping = true
    controller.abort(new Error('The server is stopping.'))
  }
  return { held, ended, stop, abandon: async () => void (await release(database.fork(), held, now())) }
}

function tellUnrenewed({ log }: Circumstances, { id }: Held, error: unknown): void {
  if (!isRefusedForMove(error)) log.warning(`job ${id}: cannot renew its lease: ${String(error)}`)
}

/** What became of an attempt; `retried` and `interrupted` ones are made again. */
type Outcome = 'done' | 'retried' | 'failed' | 'interrupted'

async function observed({ log, metrics, tracing }: Circumstances, held: Held, run: () => Promise<Outcome>): Promise<void> {
  const began = performance.now()
  try {
    const outcome = await (tracing ? tracing.attempt(held, run) : run())
    metrics?.countAttempt(held.kind, outcome, (performance.now() - began) / 1000)
  } catch (error) {
    log.error(`job ${held.id}: ${String(error)}`)
  }
}

async function runHandler(handler: Handler, { attempts, payload }: Held, work: Work): Promise<void> {
  if (attempts > handler.maxAttempts) throw new Error('The process ended each time while it ran this job.')
  await handler.run(work, JSON.parse(payload))
}

async function record(
  { database, log, now }: Circumstances,
  { maxAttempts, gaveUp }: Handler,
  held: Held,
  error: unknown,
): Promise<Outcome> {
  const { id, kind, subject, attempts } = held
  const isFinal = attempts >= maxAttempts || error instanceof PermanentFailure
  const retryAt = isFinal ? null : new Date(now().getTime() + backOffMs(attempts))
  const { isKnown, text } = describeFailure(error)
  // What is tried again may pass.
  log[isKnown && !isFinal ? 'warning' : 'error'](`job ${id} (${kind} ${subject}), attempt ${attempts} of ${maxAttempts}: ${text}`)
  const message = (error instanceof Error ? error.message : String(error)).replace(/[\p{Cc}\s]+/gu, ' ')
  const shown = message.slice(0, maxErrorLength) || 'It failed without an error message.'
  const isOurs = await fail(database.fork(), held, now(), shown, retryAt)
  if (isFinal && isOurs) await gaveUp?.(subject, shown)
  return isFinal ? 'failed' : 'retried'
}

/** 10 seconds, then four times as long each time, at most an hour; a little uneven, so that what failed together is not tried together. */
const backOffMs = (attempts: number): number => Math.min(10_000 * 4 ** (attempts - 1), 3_600_000) * (1 + Math.random() / 10)
