import { isRefusedForMove } from '../db/unavailable.ts'
import type { Services } from '../services.ts'
import { attempt, type Attempt } from './attempt.ts'
import { yieldToRequests } from './yield-to-requests.ts'
import { describeFailure } from './failure.ts'
import { type FailureLog, openFailureLog } from './failure-log.ts'
import type { Handlers } from './handler.ts'
import { claim, type Held } from './lease.ts'
import { onJobCommitted } from './wake.ts'

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

type Surroundings = Pick<Services, 'database' | 'log' | 'metrics' | 'tracing' | 'now'>

export type Worker = {
  /** Resolves when no job is due or running. */
  settled(): Promise<void>
  /** Stops the worker. No new jobs are started, running jobs are aborted, and jobs that do not end in time are released. */
  stop(): Promise<void>
}

type Circumstances = Surroundings & {
  handlers: Handlers
  concurrency: number
  leaseMs: number
  isInUse: () => boolean
  failures: FailureLog
}
type State = {
  running: Set<Attempt>
  stopping: boolean
  /** Set when another look for jobs is requested while one is running. */
  wanted: boolean
  looking: Promise<void> | null
  /** The logged failure of the last look for jobs, or null if it succeeded. */
  told: string | null
  /** The timer of a pause after a background job. */
  rest: NodeJS.Timeout | null
}

/**
 * Starts a worker that runs waiting jobs, oldest first. It wakes up after commits of this process and polls for jobs of other processes. Several
 * instances may run; each job is claimed by only one of them.
 */
export function startWorker(
  services: Surroundings,
  handlers: Handlers,
  { concurrency = 2, pollMs = 5000, leaseMs = 60_000, graceMs = 5000, isInUse = () => false }: WorkerOptions = {},
): Worker {
  const state: State = { running: new Set(), stopping: false, wanted: false, looking: null, told: null, rest: null }
  const { running } = state
  const circumstances = { ...services, handlers, concurrency, leaseMs, isInUse, failures: openFailureLog(services.log) }
  const look = () => wake(circumstances, state)
  const timer = setInterval(look, pollMs)
  timer.unref()
  const unsubscribe = onJobCommitted(services.database.orm.em, look)
  look()
  return {
    async settled() {
      while (state.looking || running.size) await (state.looking ?? Promise.race([...running].map(({ ended }) => ended)))
    },
    async stop() {
      state.stopping = true
      clearInterval(timer)
      clearTimeout(state.rest ?? undefined)
      unsubscribe()
      await state.looking
      for (const one of running) one.stop()
      await inTime(Promise.all([...running].map(({ ended }) => ended)), graceMs)
      await Promise.all([...running].map((one) => one.abandon()))
    },
  }
}

/** Starts a look for due jobs. If one is already running, another one follows. */
function wake(circumstances: Circumstances, state: State): void {
  state.wanted = true
  if (state.stopping) return
  state.looking ??= yieldToRequests(() => startDueJobs(circumstances, state))
    .then(() => {
      state.told = null
      circumstances.failures.worked(looking)
    })
    .catch((error: unknown) => logPollFailure(circumstances, state, error))
    .finally(() => {
      state.looking = null
      if (state.wanted) wake(circumstances, state)
    })
}

/** Name of the look for due jobs in the log. */
const looking = 'looking for jobs'

/** Logs a failed look for due jobs. Consecutive identical failures are logged once. */
function logPollFailure({ failures }: Circumstances, state: State, error: unknown): void {
  if (isRefusedForMove(error)) return
  const { text } = describeFailure(error)
  if (text !== state.told) failures.failed(looking, error, () => `${looking}: ${text}`)
  state.told = text
}

async function startDueJobs(circumstances: Circumstances, state: State): Promise<void> {
  const { running } = state
  let limits: Limits | undefined
  while (!state.stopping) {
    if (state.wanted) limits = undefined
    state.wanted = false
    limits ??= await limitsOf(circumstances.handlers)
    const held = await claimNext(circumstances, state, limits)
    const handler = held && circumstances.handlers[held.kind]
    if (handler) {
      const [begun, since] = [attempt(circumstances, handler, held), performance.now()]
      running.add(begun)
      const goOn = () => {
        running.delete(begun)
        if (isBackground(held) && circumstances.isInUse()) pause(circumstances, state, performance.now() - since)
        wake(circumstances, state)
      }
      begun.ended.then(goOn, goOn)
    } else if (!state.wanted) return
  }
}

/** Returns whether a job is a background job. */
const isBackground = ({ priority }: Held): boolean => priority > 0

/** Pause after a background job, as a multiple of its duration, and maximum pause in milliseconds. */
const pauseFactor = 2
const maxPauseMs = 1000

/** Pauses background jobs for a while. Urgent jobs still start. */
function pause(circumstances: Circumstances, state: State, tookMs: number): void {
  const ms = Math.min(tookMs * pauseFactor, maxPauseMs)
  clearTimeout(state.rest ?? undefined)
  state.rest = setTimeout(() => {
    state.rest = null
    wake(circumstances, state)
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
  { database, now, handlers, concurrency, leaseMs }: Circumstances,
  { running, rest: resting }: State,
  limits: Limits,
): Promise<Held | null> {
  const own = Array.from(running, ({ held }) => held.id)
  const sharing = [...running].filter(({ held }) => !handlers[held.kind]?.isApart).length
  const open = [...limits].filter(([kind, most]) => countOf(running, kind) < most).map(([kind]) => kind)
  const [shared, apart] = [open.filter((kind) => !handlers[kind]?.isApart), open.filter((kind) => handlers[kind]?.isApart)]
  for (const kinds of [sharing < concurrency ? shared : [], ...apart.map((kind) => [kind])]) {
    const held = kinds.length > 0 ? await claim(database.fork(), kinds, now(), leaseMs, { own, isUrgent: resting !== null }) : null
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
