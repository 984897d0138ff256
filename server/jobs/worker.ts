import { isRefusedForMove } from '../db/unavailable.ts'
import type { Services } from '../services.ts'
import { attempt, type Attempt } from './attempt.ts'
import { behindRequests } from './behind-requests.ts'
import { describeFailure } from './failure.ts'
import { type FailureLog, openFailureLog } from './failure-log.ts'
import type { Handlers } from './handler.ts'
import { claim, type Held } from './lease.ts'
import { onWaiting } from './wake.ts'

export type WorkerOptions = {
  /** How many jobs it runs at once, beside those of kinds that have room of their own. */
  concurrency?: number
  /** How often it looks for what other processes left. */
  pollMs?: number
  /** For how long a job is held unless its holder renews the lease. */
  leaseMs?: number
  /** How long jobs may take to end when it stops. */
  graceMs?: number
  /** Whether requests come in just now: then it rests after a job that may take its time, before it begins the next one of those. */
  isInUse?: () => boolean
}

type Surroundings = Pick<Services, 'database' | 'log' | 'metrics' | 'tracing' | 'now'>

export type Worker = {
  /** Resolves when nothing is due and nothing runs. */
  settled(): Promise<void>
  /** Ends: nothing new is begun, what runs is told to end, and what does not end in time is given back. */
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
  /** Somebody asked to look while that was under way. */
  wanted: boolean
  looking: Promise<void> | null
  /** Why the last look failed, which the log has; null when it did not. */
  told: string | null
  /** Set while it rests. */
  rest: NodeJS.Timeout | null
}

/**
 * Does the jobs that wait, oldest first: at once after a commit in this process, and by looking now and then for those of others. Any number of
 * instances may; none does what another one is doing.
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
  const unsubscribe = onWaiting(services.database.orm.em, look)
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

/** Looks for jobs, unless that is under way: then it looks once more. */
function wake(circumstances: Circumstances, state: State): void {
  state.wanted = true
  if (state.stopping) return
  state.looking ??= behindRequests(() => beginWhatIsDue(circumstances, state))
    .then(() => {
      state.told = null
      circumstances.failures.worked(looking)
    })
    .catch((error: unknown) => tellUnlooked(circumstances, state, error))
    .finally(() => {
      state.looking = null
      if (state.wanted) wake(circumstances, state)
    })
}

/** What the log calls a look. */
const looking = 'looking for jobs'

/** The same failure of many looks in a row is logged once. */
function tellUnlooked({ failures }: Circumstances, state: State, error: unknown): void {
  if (isRefusedForMove(error)) return
  const { text } = describeFailure(error)
  if (text !== state.told) failures.failed(looking, error, () => `${looking}: ${text}`)
  state.told = text
}

async function beginWhatIsDue(circumstances: Circumstances, state: State): Promise<void> {
  const { running } = state
  let room: Room | undefined
  while (!state.stopping) {
    if (state.wanted) room = undefined
    state.wanted = false
    room ??= await roomOf(circumstances.handlers)
    const held = await claimNext(circumstances, state, room)
    const handler = held && circumstances.handlers[held.kind]
    if (handler) {
      const [begun, since] = [attempt(circumstances, handler, held), performance.now()]
      running.add(begun)
      const goOn = () => {
        running.delete(begun)
        if (mayTakeItsTime(held) && circumstances.isInUse()) rest(circumstances, state, performance.now() - since)
        wake(circumstances, state)
      }
      begun.ended.then(goOn, goOn)
    } else if (!state.wanted) return
  }
}

/** A job that nobody waits for. */
const mayTakeItsTime = ({ priority }: Held): boolean => priority > 0

/** After such a job it rests for so many times as long as that took, but no longer than this. */
const restFactor = 2
const maxRestMs = 1000

/** Begins no job for a while but those that somebody waits for. */
function rest(circumstances: Circumstances, state: State, tookMs: number): void {
  const ms = Math.min(tookMs * restFactor, maxRestMs)
  clearTimeout(state.rest ?? undefined)
  state.rest = setTimeout(() => {
    state.rest = null
    wake(circumstances, state)
  }, ms).unref()
}

/** How many jobs of each kind this process may run at once. */
type Room = ReadonlyMap<string, number>

async function roomOf(handlers: Handlers): Promise<Room> {
  const room = new Map<string, number>()
  for (const [kind, { maxConcurrent }] of Object.entries(handlers))
    room.set(kind, typeof maxConcurrent === 'number' ? maxConcurrent : await maxConcurrent())
  return room
}

/** Takes a job of the kinds that share the room, if some is left, else one of those that have room of their own. */
async function claimNext(
  { database, now, handlers, concurrency, leaseMs }: Circumstances,
  { running, rest: resting }: State,
  room: Room,
): Promise<Held | null> {
  const own = Array.from(running, ({ held }) => held.id)
  const sharing = [...running].filter(({ held }) => !handlers[held.kind]?.isApart).length
  const open = [...room].filter(([kind, most]) => countOf(running, kind) < most).map(([kind]) => kind)
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
