import type { EntityManager } from '@mikro-orm/sql'
import { invalidInput, missingAuthentication } from '../../errors.ts'
import { countFailures } from '../../platform/http/limits/limits.ts'
import type { Services } from '../../services.ts'
import { User } from './entity.ts'
import { type Hasher, verifyPassword } from './hashing.ts'

type Prover = Hasher & Pick<Services, 'limits' | 'database' | 'state'> & { em: EntityManager; viewer: { id: string } }

/**
 * Verifies the caller's password.
 * @returns the hash that was verified. A change based on the result must check that the account still has this hash.
 * @throws ApiError InvalidInput for a wrong password; RateLimitExceeded after five wrong ones; MissingAuthentication when the account was disabled
 * or deleted concurrently.
 */
export async function provePassword(context: Prover, password: string, field = 'currentPassword'): Promise<string> {
  const { em, viewer, limits } = context
  const user = await em.findOne(User, { id: viewer.id, isActive: true }, { populate: ['passwordHash'], refresh: true })
  if (!user) throw missingAuthentication('Your account was disabled or deleted.')
  const stored = user.passwordHash ?? null
  const judge = () => verifyPassword(context, password, stored)
  const fits = await countFailures(limits, 'wrongPassword', viewer.id, judge, (right) => !right)
  if (!fits || !stored) throw invalidInput(`${field}: is wrong.`, field)
  return stored
}
