import { z } from 'zod'
import type { Estimate, Question } from './strength-worker.ts'
import { passwordThreads } from './password-threads.ts'
import { type Caller, passwordTurns } from './password-turns.ts'

const answer = z.object({ common: z.boolean(), score: z.number(), advice: z.string() })

// One thread. Callers take turns as they do for hashing.
const turns = passwordTurns({ atOnce: 1, waitingPerKey: 8 })

// The thread and its dictionaries take 90 MB. The deadline is far above what the slowest password and a busy machine take.
const ask = passwordThreads(new URL('./strength-worker.ts', import.meta.url), { deadlineMs: 30_000, maxHeapMb: 256 })

/**
 * Estimates how easily a password is guessed.
 * @throws ApiError RateLimitExceeded when too many wait, ServiceUnavailable when there is no answer in time.
 */
export const estimateStrength = (caller: Caller, question: Question): Promise<Estimate> =>
  turns.run(caller, async () => answer.parse(await ask(question)))
