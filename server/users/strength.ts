import { z } from 'zod'
import { addressKey } from '../http/limits/limits.ts'
import { takeFairTurns } from '../threads/fair-turns.ts'
import type { Estimate, Question } from './strength-worker.ts'
import { passwordThreads } from './password-threads.ts'

const answer = z.object({ common: z.boolean(), score: z.number(), advice: z.string() })

// One thread, and addresses take turns, as with hashing.
const inTurn = takeFairTurns({ atOnce: 1, waiting: 32, waitingPerKey: 8 })

// The thread and its dictionaries take 90 MB. The deadline is far above what the slowest password and a busy machine take.
const ask = passwordThreads(new URL('./strength-worker.ts', import.meta.url), { deadlineMs: 30_000, maxHeapMb: 256 })

/**
 * How easily a password is guessed. `ip` tells whose turn it is.
 * @throws ApiError RateLimitExceeded when too many wait, ServiceUnavailable when there is no answer in time.
 */
export const estimateStrength = (ip: string, question: Question): Promise<Estimate> =>
  inTurn(addressKey(ip), async () => answer.parse(await ask(question)))
