import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { serviceUnavailable } from '../../errors.ts'
import { createFairLimiter } from '../../platform/threads/fair-limiter.ts'
import { ThreadFailed, openThreadPool } from '../../platform/threads/pool.ts'
import type { Task } from './worker.ts'

// A thread takes about 20 MB. Normal texts take milliseconds to render, and users are waiting.
const ask = openThreadPool(new URL('./worker.ts', import.meta.url), {
  deadlineMs: 1500,
  idleMs: 30_000,
  memory: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 },
})
const inTurn = createFairLimiter({
  atOnce: availableParallelism() > 2 ? 2 : 1,
  waiting: 1000,
  // The number of texts that a single GraphQL query can request within its cost limit. The bytes per query are limited separately.
  waitingPerKey: 500,
  maxWaitMs: 10_000,
  refusal: () => serviceUnavailable('Too many texts are waiting to be rendered. Try again in a moment.', 5),
})

/**
 * Renders Markdown in a worker thread. Callers take turns, and each text has a timeout, so that a slow text does not delay others. Returns null for a
 * text that takes too long or too much memory.
 * @throws ApiError ServiceUnavailable when the queue is full, the text waits too long, or no thread can be started.
 */
export const renderInThread = (caller: string, task: Task): Promise<string | null> =>
  inTurn(caller, async () =>
    z
      .string()
      .nullable()
      .parse(await ask(task).catch(nullIfTextFailed)),
  )

/** Returns null if the text caused the failure. Throws if the thread could not start. */
function nullIfTextFailed(failure: unknown): null {
  if (failure instanceof ThreadFailed && failure.wasAtWork) return null
  throw Object.assign(serviceUnavailable('The text could not be rendered. Try again in a minute.', 60), { cause: failure })
}
