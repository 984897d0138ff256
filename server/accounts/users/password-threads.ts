import { serviceUnavailable } from '../../errors.ts'
import { openThreadPool } from '../../platform/threads/pool.ts'
import { networkKeys, fairQueueKey } from '../../platform/http/limits.ts'
import { createFairLimiter } from '../../platform/threads/fair-limiter.ts'

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

/** The caller for whom a password is hashed or checked. */
export type Caller = {
  ip: string
  /** The signed-in user, if any. */
  viewer?: { id: string } | null
  /** The account to sign in to, if any: a hash of the e-mail address, whether or not it exists. */
  account?: string
  /** Whether the sign-in comes from a device or address range that signed in to the account before. */
  isKnown?: boolean
}

/**
 * Returns a queue for password work that takes turns between networks. Signed-in callers and sign-ins from known devices or address ranges have
 * reserved places that other callers cannot take. When the queue is full, networks and accounts with fewer recent calls take precedence, so that
 * newcomers get a place during a flood from any number of networks.
 * @throws ApiError RateLimitExceeded when the queue is full.
 */
export function passwordTurns(bounds: { atOnce: number; waitingPerKey: number }) {
  const inTurn = createFairLimiter({ ...bounds, waiting: 32, reserved: 16, newcomersFirst: true })
  return {
    run: <Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> => inTurn(fairQueueKey(caller.ip), work, placeOf(caller)),
    /** @throws ApiError RateLimitExceeded when the queue has no place for this caller. */
    requirePlace: (caller: Caller): void => inTurn.requirePlace(fairQueueKey(caller.ip), placeOf(caller)),
  }
}

export type PasswordTurns = ReturnType<typeof passwordTurns>

function placeOf({ ip, viewer, account, isKnown }: Caller) {
  const sources = [...networkKeys(ip), viewer?.id ?? account ?? []].flat()
  return { lane: viewer || isKnown ? ('reserved' as const) : ('open' as const), sources }
}
