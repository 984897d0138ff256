import { setImmediate as turn } from 'node:timers/promises'
import { isRejectedForMove } from '../db/unavailable.ts'
import type { Services } from '../../services.ts'
import { withMeter } from '../db/meter.ts'
import { attempt, type Attempt, backOffMs } from './attempt.ts'
import { describeFailure, type FailureLog, openFailureLog } from './failure.ts'
import type { Handlers } from './handler.ts'
import { claim, type ClaimedJob } from './lease.ts'
import { onJobCommitted } from './queue.ts'

export type WorkerOptions = {
  /** Number of shared slots for concurrent jobs. Kinds with their own slots are not included. */
  concurrency?: number
  /** Interval in milliseconds for polling jobs enqueued by other processes. */
  pollMs?: number
  /** Duration of a lease in milliseconds. */
  leaseMs?: number
  /** Grace period for running jobs when the worker stops, in milliseconds. */
  graceMs?: number
  /** Returns whether requests are being served. If so, the worker pauses between background jobs. */
  isInUse?: () => boolean
}

type Dependencies = Pick<Services, 'database' | 'log' | 'metrics' | 'tracing' | 'now'>

export type Worker = {
  /** Resolves when no job is due or running. */
  settled(): Promise<void>
  /** Stops the worker. No new jobs are started, running jobs are aborted, and jobs that do not end in time are released. */
  stop(): Promise<void>
}

type Context = Dependencies & {
  handlers: Handlers
  concurrency: number
  leaseMs: number
  isInUse: () => boolean
  failures: FailureLog
}
type State = {
  running: Set<Attempt>
  stopping: boolean
  /** Set when another poll is requested while one is running. */
  isPollRequested: boolean
  polling: Promise<void> | null
  /** The logged failure of the last poll, or null if it succeeded. */
  loggedFailure: string | null
  /** The timer of a pause after a background job. */
  pauseTimer: NodeJS.Timeout | null
}

/** Starts a worker. It wakes up after commits of this process and polls for jobs of others. Each job is claimed by one of all instances. */
export function startWorker(
  services: Dependencies,
  handlers: Handlers,
  { concurrency = 2, pollMs = 5000, leaseMs = 60_000, graceMs = 5000, isInUse = () => false }: WorkerOptions = {},
): Worker {
  const state: State = { running: new Set(), stopping: false, isPollRequested: false, polling: null, loggedFailure: null, pauseTimer: null }
  const { running } = state
  const context = { ...services, handlers, concurrency, leaseMs, isInUse, failures: openFailureLog(services.log) }
  const poll = () => wake(context, state)
  const timer = setInterval(poll, pollMs)
  timer.unref()
  const unsubscribe = onJobCommitted(services.database.orm.em, poll)
  poll()
  return {
    async settled() {
      while (state.polling || running.size) await (state.polling ?? Promise.race([...running].map(({ ended }) => ended)))
    },
    async stop() {
      state.stopping = true
      clearInterval(timer)
      clearTimeout(state.pauseTimer ?? undefined)
      unsubscribe()
      await state.polling
      for (const one of running) one.stop()
      await inTime(Promise.all([...running].map(({ ended }) => ended)), graceMs)
      await Promise.all([...running].map((one) => one.abandon()))
    },
  }
}

/** Polls for due jobs. If a poll is already running, another one follows. */
function wake(context: Context, state: State): void {
  state.isPollRequested = true
  if (state.stopping) return
  state.polling ??= yieldToRequests(() => startDueJobs(context, state))
    .then(() => {
      state.loggedFailure = null
      context.failures.worked(pollName)
    })
    .catch((error: unknown) => logPollFailure(context, state, error))
    .finally(() => {
      state.polling = null
      if (state.isPollRequested) wake(context, state)
    })
}

/** Name of polls in the log. */
const pollName = 'looking for jobs'

/** Logs a failed poll. Consecutive identical failures are logged once. */
function logPollFailure({ failures }: Context, state: State, error: unknown): void {
  if (isRejectedForMove(error)) return
  const { text } = describeFailure(error)
  if (text !== state.loggedFailure) failures.failed(pollName, error, () => `${pollName}: ${text}`)
  state.loggedFailure = text
}

async function startDueJobs(context: Context, state: State): Promise<void> {
  const { running } = state
  let limits: Limits | undefined
  while (!state.stopping) {
    if (state.isPollRequested) limits = undefined
    state.isPollRequested = false
    limits ??= await limitsOf(context.handlers)
    const held = await claimNext(context, state, limits)
    const handler = held && context.handlers[held.kind]
    if (handler) {
      const [begun, since] = [attempt(context, handler, held), performance.now()]
      running.add(begun)
      const onEnded = () => {
        running.delete(begun)
        if (isBackground(held) && context.isInUse()) pause(context, state, performance.now() - since)
        wake(context, state)
      }
      begun.ended.then(onEnded, onEnded)
    } else if (!state.isPollRequested) return
  }
}

/** Returns whether a job is a background job. */
const isBackground = ({ priority }: ClaimedJob): boolean => priority > 0

/** Pause after a background job, as a multiple of its duration, and maximum pause in milliseconds. */
const pauseFactor = 2
const maxPauseMs = 1000

/** Pauses background jobs for a while. Urgent jobs still start. */
function pause(context: Context, state: State, tookMs: number): void {
  const ms = Math.min(tookMs * pauseFactor, maxPauseMs)
  clearTimeout(state.pauseTimer ?? undefined)
  state.pauseTimer = setTimeout(() => {
    state.pauseTimer = null
    wake(context, state)
  }, ms).unref()
}

/** Maximum number of concurrent jobs by kind. */
type Limits = ReadonlyMap<string, number>

async function limitsOf(handlers: Handlers): Promise<Limits> {
  const limits = new Map<string, number>()
  for (const [kind, { maxConcurrent }] of Object.entries(handlers))
    limits.set(kind, typeof maxConcurrent === 'number' ? maxConcurrent : await maxConcurrent())
  return limits
}

/** Claims a job of the kinds that share slots, if a slot is free, or otherwise one of a kind with its own slots. */
async function claimNext(
  { database, now, handlers, concurrency, leaseMs }: Context,
  { running, pauseTimer }: State,
  limits: Limits,
): Promise<ClaimedJob | null> {
  const own = Array.from(running, ({ held }) => held.id)
  const sharing = [...running].filter(({ held }) => !handlers[held.kind]?.hasOwnSlots).length
  const open = [...limits].filter(([kind, most]) => countOf(running, kind) < most).map(([kind]) => kind)
  const [shared, apart] = [open.filter((kind) => !handlers[kind]?.hasOwnSlots), open.filter((kind) => handlers[kind]?.hasOwnSlots)]
  for (const kinds of [sharing < concurrency ? shared : [], ...apart.map((kind) => [kind])]) {
    const held =
      kinds.length > 0 ? await claim(database.fork(), kinds, now(), leaseMs, { own, isUrgent: pauseTimer !== null, backOffMs }) : null
    if (held) return held
  }
  return null
}

const countOf = (running: Set<Attempt>, kind: string) => [...running].filter(({ held }) => held.kind === kind).length

async function inTime(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([work, new Promise((resolve) => (timer = setTimeout(resolve, ms)))])
  clearTimeout(timer)
}

/** Runs `work` and yields to requests before each of its statements, which on SQLite block the event loop. */
const yieldToRequests = <Value>(work: () => Value): Value => withMeter({ measure: (statement) => turn().then(statement) }, work)
