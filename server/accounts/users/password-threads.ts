import { serviceUnavailable } from '../../errors.ts'
import { openThreadPool } from '../../platform/threads/pool.ts'

/**
 * Returns a function that runs password work in threads of the given module. Threads exit after being idle for a minute.
 * @throws ApiError ServiceUnavailable when a thread fails or misses the deadline, with the cause for the log.
 */
export function passwordThreads(module: URL, { deadlineMs, maxHeapMb }: { deadlineMs: number; maxHeapMb: number }) {
  const ask = openThreadPool(module, { deadlineMs, idleMs: 60_000, memory: { maxOldGenerationSizeMb: maxHeapMb } })
  return (question: unknown): Promise<unknown> =>
    ask(question).catch((cause: unknown) => {
      throw Object.assign(serviceUnavailable('The password could not be checked. Try again in a minute.', 60), { cause })
    })
}
