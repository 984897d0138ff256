import type { Context } from '../access/context.ts'
import { turnKey } from '../http/limits/limits.ts'
import { takeFairTurns } from '../threads/fair-turns.ts'
import { nextSlice } from '../threads/slices.ts'

/** What costs more waits for its turn: an expensive query takes most of a processor, of the database's as well. */
const expensiveFrom = 1000

const inTurn = takeFairTurns({ atOnce: 1, waiting: 64, waitingPerKey: 16 })

/**
 * Executes an operation; an expensive one when no other is running, so that many of them slow down each other and nobody else.
 * @throws ApiError RateLimitExceeded when too many wait already.
 */
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
