import type { Context } from '../access/context.ts'
import { turnKey } from '../http/limits.ts'
import { createFairLimiter } from '../threads/fair-limiter.ts'
import { nextSlice } from '../threads/slices.ts'

/** Queries above this cost are queued, because an expensive query occupies most of a CPU, also of the database server. */
const expensiveFrom = 1000

const inTurn = createFairLimiter({ atOnce: 1, waiting: 64, waitingPerKey: 16 })

/** Executes an operation; expensive ones run one at a time. Throws RateLimitExceeded if their queue is full. */
export function executeInTurn<Result>(
  { viewer, ip, budget }: Context,
  cost: number,
  execute: () => Result | Promise<Result>,
): Promise<Result> {
  const work = async () => {
    budget?.restart()
    await nextSlice()
    return await execute()
  }
  return cost > expensiveFrom ? inTurn(viewer?.id ?? turnKey(ip), work) : work()
}
