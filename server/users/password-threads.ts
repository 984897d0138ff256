import { serviceUnavailable } from '../errors.ts'
import { threadsOf } from '../threads/pool.ts'

/**
 * Makes a function that asks threads of a module about passwords. They leave when they had nothing to do for a minute.
 * @throws ApiError ServiceUnavailable when a thread fails or does not answer in time; the cause is for the log.
 */
export function passwordThreads(module: URL, { deadlineMs, maxHeapMb }: { deadlineMs: number; maxHeapMb: number }) {
  const ask = threadsOf(module, { deadlineMs, idleMs: 60_000, memory: { maxOldGenerationSizeMb: maxHeapMb } })
  return (question: unknown): Promise<unknown> =>
    ask(question).catch((cause: unknown) => {
      throw Object.assign(serviceUnavailable('The password could not be checked. Try again in a minute.', 60), { cause })
    })
}
