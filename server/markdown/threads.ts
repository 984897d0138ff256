import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { serviceUnavailable } from '../errors.ts'
import { takeFairTurns } from '../threads/fair-turns.ts'
import { ThreadFailed, openThreadPool } from '../threads/pool.ts'
import type { Task } from './worker.ts'

// A thread takes some twenty megabytes. Honest texts take milliseconds, and people wait for the answer.
const ask = openThreadPool(new URL('./worker.ts', import.meta.url), {
  deadlineMs: 1500,
  idleMs: 30_000,
  memory: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 },
})
const inTurn = takeFairTurns({
  atOnce: availableParallelism() > 2 ? 2 : 1,
  waiting: 1000,
  // As many as one query may ask for by its cost; what a query reads is bounded in bytes.
  waitingPerKey: 500,
  maxWaitMs: 10_000,
  refusal: () => serviceUnavailable('Too many texts wait to be rendered. Try again in a moment.', 5),
})

/**
 * Renders Markdown in a thread of its own, so that nobody waits for a text that takes long: callers have turns, and each text a deadline.
 * Gives null for a text that took too long or too much memory.
 * @throws ApiError ServiceUnavailable when too much waits already, before its turn comes, or when no thread can be started.
 */
export const renderInThread = (caller: string, task: Task): Promise<string | null> =>
  inTurn(caller, async () =>
    z
      .string()
      .nullable()
      .parse(await ask(task).catch(nothingOf)),
  )

/** The text is at fault, unless the thread could not even start. */
function nothingOf(failure: unknown): null {
  if (failure instanceof ThreadFailed && failure.wasAtWork) return null
  throw Object.assign(serviceUnavailable('The text could not be rendered. Try again in a minute.', 60), { cause: failure })
}
