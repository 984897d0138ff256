import { z } from 'zod'
import type { Estimate, Question } from './strength-worker.ts'
import { passwordThreads } from './password-threads.ts'
import { type Caller, passwordTurns } from './password-turns.ts'

const answer = z.object({ common: z.boolean(), score: z.number(), advice: z.string() })

// One thread. Callers take turns, as for hashing.
const turns = passwordTurns({ atOnce: 1, waitingPerKey: 8 })

// The thread with its dictionaries uses 90 MB. The deadline is far above the time for the slowest password on a busy machine.
const ask = passwordThreads(new URL('./strength-worker.ts', import.meta.url), { deadlineMs: 30_000, maxHeapMb: 256 })

/**
 * Estimates how easy a password is to guess.
 * @throws ApiError RateLimitExceeded when the queue is full; ServiceUnavailable when the thread misses the deadline.
 */
export const estimateStrength = (caller: Caller, question: Question): Promise<Estimate> =>
  turns.run(caller, async () => answer.parse(await ask(question)))
