import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import { provePassword } from '../users/prove-password.ts'
import { Session } from './entity.ts'

/**
 * Confirms the password again for the session of the request.
 * @throws ApiError InvalidInput for a wrong password; RateLimitExceeded after five wrong ones; MissingAuthentication when the session has ended
 * in the meantime.
 */
export async function confirmPassword(context: SignedInContext, currentPassword: string): Promise<void> {
  const { em, viewer, credential, ip, now } = context
  await provePassword(context, currentPassword)
  await em.transactional(async (inner) => {
    // Changing or resetting the password and disabling the account end the session, so a confirmation that raced with them has no effect.
    const proved = await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { provedAt: now() })
    if (!proved) throw unauthenticated(context)
    audit(inner, {
      kind: 'user.password_confirmed',
      actor: viewer,
      user: viewer,
      summary: `${viewer.displayName} confirmed their password`,
      ip,
    })
  })
}
