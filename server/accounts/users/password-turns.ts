import { turnKey } from '../../platform/http/limits/limits.ts'
import { type Lane, createFairLimiter } from '../../platform/threads/fair-limiter.ts'

/** The caller for whom a password is hashed or checked. */
export type Caller = {
  ip: string
  /** The signed-in user, if any. */
  viewer?: object | null
  /** Whether the sign-in comes from a device or address range that signed in to the account before. */
  isKnown?: boolean
}

/**
 * Returns a queue for password work that takes turns between networks. Signed-in callers and sign-ins from known devices or address ranges have
 * reserved places that other callers cannot take.
 * @throws ApiError RateLimitExceeded when the queue is full.
 */
export function passwordTurns(bounds: { atOnce: number; waitingPerKey: number }) {
  const inTurn = createFairLimiter({ ...bounds, waiting: 32, reserved: 16 })
  return {
    run: <Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> => inTurn(turnKey(caller.ip), work, laneOf(caller)),
    /** @throws ApiError RateLimitExceeded when the queue has no place for this caller. */
    requirePlace: (caller: Caller): void => inTurn.requirePlace(turnKey(caller.ip), laneOf(caller)),
  }
}

const laneOf = ({ viewer, isKnown }: Caller): Lane => (viewer || isKnown ? 'reserved' : 'open')
