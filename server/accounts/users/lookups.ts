import { ApiError } from '../../errors.ts'
import type { Limits } from '../../platform/http/limits/limits.ts'

/**
 * Rate-limits operations that look up a user by e-mail address, so that accounts cannot be enumerated. An attempt is charged first and refunded
 * unless
 * the result reveals something: that no account has the address, or the state of the account.
 * @throws ApiError RateLimitExceeded; rethrows errors of `work`.
 */
export async function limitLookups<Result>(
  { limits, viewer }: { limits: Limits; viewer: { id: string } },
  work: () => Promise<Result>,
): Promise<Result> {
  await limits.use('emailLookup', viewer.id)
  let hasRevealed = false
  try {
    return await work()
  } catch (error) {
    hasRevealed = error instanceof ApiError && (error.code === 'NotFound' || error.code === 'Conflict')
    throw error
  } finally {
    if (!hasRevealed) await limits.refund('emailLookup', viewer.id)
  }
}
