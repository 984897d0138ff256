import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { serviceUnavailable } from '../errors.ts'
import { addressKey } from '../http/limits.ts'
import { takeFairTurns } from '../jobs/fair-turns.ts'
import type { Estimate, Question } from './strength-worker.ts'

const answers = z.tuple([z.object({ common: z.boolean(), score: z.number(), advice: z.string() })])

/** The thread and its dictionaries, 90 MB, are kept for so long after the last password. */
const idleMs = 60_000
/** Far more than the slowest password and a busy machine take. */
const deadlineMs = 30_000

// One thread, and addresses take turns, as with hashing.
const inTurn = takeFairTurns({ atOnce: 1, waiting: 32, waitingPerKey: 8 })

/**
 * How easily a password is guessed. `ip` tells whose turn it is.
 * @throws ApiError RateLimitExceeded when too many wait, ServiceUnavailable when there is no answer in time.
 */
export const estimateStrength = (ip: string, question: Question): Promise<Estimate> => inTurn(addressKey(ip), () => ask(question))

let worker: Worker | undefined
let idle: NodeJS.Timeout | undefined

async function ask(question: Question): Promise<Estimate> {
  clearTimeout(idle)
  const thread = (worker ??= new Worker(new URL('./strength-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  }))
  thread.ref()
  try {
    const answer = once(thread, 'message', { signal: AbortSignal.timeout(deadlineMs) })
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    thread.postMessage(question)
    return answers.parse(await answer)[0]
  } catch (cause) {
    end(thread)
    throw Object.assign(serviceUnavailable('The password could not be checked. Try again in a minute.', 60), { cause })
  } finally {
    idle = setTimeout(() => end(thread), idleMs).unref()
    // Ending the server does not wait for it.
    thread.unref()
  }
}

function end(thread: Worker): void {
  if (worker === thread) worker = undefined
  void thread.terminate()
}
