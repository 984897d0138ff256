import { ApiError } from '../errors.ts'
import type { Limits } from '../http/limits/limits.ts'

/**
 * Does what names a person by e-mail address, while the caller has tries left: who has an account here is not to be found out address by
 * address. The try is taken first and given back unless the answer told something: that nobody has the address, or what is wrong with the account.
 * @throws ApiError RateLimitExceeded; whatever `work` throws.
 */
export async function limitLookups<Result>(
  { limits, viewer }: { limits: Limits; viewer: { id: string } },
  work: () => Promise<Result>,
): Promise<Result> {
  await limits.use('emailLookup', viewer.id)
  let told = false
  try {
    return await work()
  } catch (error) {
    told = error instanceof ApiError && (error.code === 'NotFound' || error.code === 'Conflict')
    throw error
  } finally {
    if (!told) await limits.giveBack('emailLookup', viewer.id)
  }
}
