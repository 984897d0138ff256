import { ApiError, causeOf } from '../../errors.ts'
import type { Log } from '../../platform/http/log.ts'

/** Result of a check. The message contains no internal details. */
export type Check = { status: 'ok' | 'error' | 'initializing'; latencyMs: number; message?: string }

/**
 * Returns a check that is shared by concurrent callers and does not start again while a run hangs. It throws the error of `work`. A success, but not
 * a failure, is cached for `keptMs`.
 */
export function cachedCheck(
  work: () => Promise<unknown>,
  { timeoutMs, keptMs }: Record<'timeoutMs' | 'keptMs', number>,
): () => Promise<void> {
  let passedAt = Number.NEGATIVE_INFINITY
  let begunAt = 0
  let running: Promise<void> | undefined
  const run = async () => {
    begunAt = performance.now()
    try {
      await work()
      passedAt = performance.now()
    } finally {
      running = undefined
    }
  }
  return async () => {
    if (!running && performance.now() - passedAt < keptMs) return
    running ??= run()
    await inTime(running, begunAt + timeoutMs - performance.now())
  }
}

/** Returns a check that fails, but never throws, if `work` throws or takes too long. Logs when it starts and stops failing. */
export function watchedCheck(
  log: Log,
  { failing, passing }: { failing: string; passing: string },
  work: () => Promise<unknown>,
): (timeoutMs: number) => Promise<Check> {
  let isFailing = false
  return async (timeoutMs) => {
    const started = performance.now()
    const latency = () => Math.round((performance.now() - started) * 10) / 10
    try {
      const answer = await inTime(work(), timeoutMs)
      if (isFailing) log.warning(passing)
      isFailing = false
      return { status: answer === 'initializing' ? answer : 'ok', latencyMs: latency() }
    } catch (error) {
      if (!isFailing) log.error(`${failing}: ${String(causeOf(error))}`)
      isFailing = true
      return { status: 'error', latencyMs: latency(), message: error instanceof ApiError ? error.message : unknownCause }
    }
  }
}

const unknownCause = 'The component does not work or does not respond. See the log of the server for the cause.'

/** Returns the result of `work`, or throws if it takes longer than the timeout. */
export async function inTime<Value>(work: Value | Promise<Value>, timeoutMs: number, message = 'no answer in time'): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(message)), Math.max(timeoutMs, 0))
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
