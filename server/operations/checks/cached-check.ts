import { causeOf } from '../../errors.ts'
import type { Log } from '../../platform/http/log.ts'

/** A check that resolves to null if it passes, or to the error. */
export type CachedCheck = () => Promise<Error | null>

type Options = {
  /** Timeout of the check. */
  timeoutMs: number
  /** How long a success is cached. Failures are not cached. */
  keptMs: number
}

/** Returns a check that is shared by concurrent callers and does not start again while a run hangs. */
export function cachedCheck(work: () => Promise<unknown>, { timeoutMs, keptMs }: Options): CachedCheck {
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

/** Returns the result of `work`, or throws if it takes longer than the timeout. */
export async function inTime<Value>(work: Promise<Value>, timeoutMs: number): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer in time')), Math.max(timeoutMs, 0))
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns a function that logs when a check starts failing, with the error, and when it passes again. */
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
