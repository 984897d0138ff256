import { raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { insufficientPermissions } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { audit } from '../audit/service.ts'
import { Passkey, RecoveryCode, Totp } from '../factors/entity.ts'
import { revokeSessions } from '../sessions/service.ts'
import { User } from '../users/entity.ts'
import { isOneself } from '../users/policy.ts'
import { editable, reloadUser, requirePerson } from '../users/service.ts'

/** Removes all factors of a user and ends the sessions, in the transaction of `em`. */
export async function removeFactors(em: EntityManager, userId: string): Promise<void> {
  // Locks the row, without a change: a sign-in with the lost factor that is about to finish ends, too.
  await em.nativeUpdate(User, { id: userId }, { isActive: raw('is_active') })
  for (const entity of [Passkey, Totp, RecoveryCode]) await em.nativeDelete(entity as typeof Passkey, { user: userId })
  await revokeSessions(em, userId)
}

/**
 * Removes the second factor and the passkeys of a user who lost them, and ends the user's sessions, but not the tokens. For administrators.
 * @throws ApiError NotFound; Conflict for a service account; InsufficientPermissions for the owner, for the caller's own account, and without a recent proof.
 */
export async function resetSecondFactor(context: SignedInContext, id: string) {
  const { em, viewer, ip } = context
  if (isOneself(context, { id }))
    throw insufficientPermissions('You cannot reset your own second factor here. Change it in your account settings.')
  requireRecentProof(context)
  await em.transactional(async (inner) => {
    const user = await editable(inner, id)
    requirePerson(user)
    await removeFactors(inner, id)
    const summary = `${viewer.displayName} reset the second factor of ${user.displayName}`
    audit(inner, { kind: 'user.second_factor_reset', actor: viewer, user, summary, ip })
  })
  return reloadUser(em, id)
}
