import type { Services } from '../services.ts'
import { attempt, type Attempt } from './attempt.ts'
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
}

type Surroundings = Pick<Services, 'database' | 'log' | 'metrics' | 'now'>

export type Worker = {
  /** Resolves when nothing is due and nothing runs. */
  settled(): Promise<void>
  /** Ends: nothing new is begun, what runs is told to end, and what does not end in time is given back. */
  stop(): Promise<void>
}

type Circumstances = Surroundings & { handlers: Handlers; concurrency: number; leaseMs: number }
type State = {
  running: Set<Attempt>
  stopping: boolean
  /** Somebody asked to look while that was under way. */
  wanted: boolean
  looking: Promise<void> | null
}

/**
 * Does the jobs that wait, oldest first: at once after a commit in this process, and by looking now and then for those of others. Any number of
 * instances may; none does what another one is doing.
 */
export function startWorker(
  services: Surroundings,
  handlers: Handlers,
  { concurrency = 2, pollMs = 5000, leaseMs = 60_000, graceMs = 5000 }: WorkerOptions = {},
): Worker {
  const state: State = { running: new Set(), stopping: false, wanted: false, looking: null }
  const { running } = state
  const look = () => wake({ ...services, handlers, concurrency, leaseMs }, state)
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
  state.looking ??= beginWhatIsDue(circumstances, state)
    .catch((error: unknown) => circumstances.log.error(`looking for jobs: ${String(error)}`))
    .finally(() => {
      state.looking = null
      if (state.wanted) wake(circumstances, state)
    })
}

async function beginWhatIsDue(circumstances: Circumstances, state: State): Promise<void> {
  const { running } = state
  while (!state.stopping) {
    state.wanted = false
    const held = await claimNext(circumstances, running)
    const handler = held && circumstances.handlers[held.kind]
    if (handler) {
      const begun = attempt(circumstances, handler, held)
      running.add(begun)
      void begun.ended.then(() => (running.delete(begun), wake(circumstances, state)))
    } else if (!state.wanted) return
  }
}

/** Takes a job of the kinds that share the room, if some is left, else one of those that have room of their own. */
async function claimNext({ database, now, handlers, concurrency, leaseMs }: Circumstances, running: Set<Attempt>): Promise<Held | null> {
  const own = Array.from(running, ({ held }) => held.id)
  const sharing = [...running].filter(({ held }) => !handlers[held.kind]?.isApart).length
  const shared: string[] = []
  const apart: string[][] = []
  for (const [kind, { maxConcurrent, isApart }] of Object.entries(handlers)) {
    const most = typeof maxConcurrent === 'number' ? maxConcurrent : await maxConcurrent()
    if (countOf(running, kind) >= most) continue
    if (isApart) apart.push([kind])
    else shared.push(kind)
  }
  for (const kinds of [sharing < concurrency ? shared : [], ...apart]) {
    const held = kinds.length > 0 ? await claim(database.fork(), kinds, now(), leaseMs, own) : null
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
