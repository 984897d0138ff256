import { causeOf } from '../errors.ts'
import type { Log } from '../http/log.ts'

/** A check: returns null when it passes, else the error. */
export type SteadyCheck = () => Promise<Error | null>

type Options = {
  /** A check without an outcome after this time has failed. */
  timeoutMs: number
  /** How long a pass is returned without running the check again. A failure is not kept. */
  keptMs: number
}

/** Returns a check that runs once at a time for all its callers, and does not start again while a run hangs. */
export function steady(work: () => Promise<unknown>, { timeoutMs, keptMs }: Options): SteadyCheck {
  let passedAt = Number.NEGATIVE_INFINITY
  let begunAt = 0
  let running: Promise<Error | null> | undefined
  const run = async () => {
    begunAt = performance.now()
    const failure = await failureOf(work())
    passedAt = failure ? Number.NEGATIVE_INFINITY : performance.now()
    running = undefined
    return failure
  }
  return async () => {
    if (!running && performance.now() - passedAt < keptMs) return null
    running ??= run()
    return failureOf(inTime(running, begunAt + timeoutMs - performance.now()))
  }
}

/** Returns what a check came to, or throws when it has none within this time. */
export async function inTime<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer in time')), Math.max(timeoutMs, 0))
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns a function that logs a line when a check begins to fail, with the details, and one when it passes again. */
export function logChanges(log: Log, { failing, passing }: { failing: string; passing: string }): (failure: unknown) => void {
  let isFailing = false
  return (failure) => {
    if (failure && !isFailing) log.error(`${failing}: ${String(causeOf(failure))}`)
    if (!failure && isFailing) log.warning(passing)
    isFailing = Boolean(failure)
  }
}

async function failureOf(work: Promise<unknown>): Promise<Error | null> {
  try {
    const outcome = await work
    return outcome instanceof Error ? outcome : null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
