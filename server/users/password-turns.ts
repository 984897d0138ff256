import { turnKey } from '../http/limits/limits.ts'
import { type Lane, takeFairTurns } from '../threads/fair-turns.ts'

/** Who waits for work on a password. */
export type Caller = {
  ip: string
  /** Who is signed in. */
  viewer?: object | null
  /** Whether the caller signs in from a device or an address range that signed in to the account before. */
  isKnown?: boolean
}

/**
 * Returns a function that runs work on passwords in turn, by network. Signed-in callers, and sign-ins from a known device or address range, have
 * places that others cannot take, however many networks they send from.
 * @throws ApiError RateLimitExceeded when the queue is full.
 */
export function passwordTurns(bounds: { atOnce: number; waitingPerKey: number }) {
  const inTurn = takeFairTurns({ ...bounds, waiting: 32, reserved: 16 })
  return {
    run: <Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> => inTurn(turnKey(caller.ip), work, laneOf(caller)),
    /** @throws ApiError RateLimitExceeded when work of this caller would be refused now. */
    requirePlace: (caller: Caller): void => inTurn.requirePlace(turnKey(caller.ip), laneOf(caller)),
  }
}

const laneOf = ({ viewer, isKnown }: Caller): Lane => (viewer || isKnown ? 'reserved' : 'open')
