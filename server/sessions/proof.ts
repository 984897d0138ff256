import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../access/context.ts'
import { nobody } from '../access/refusal.ts'
import { provePassword } from '../users/prove-password.ts'
import { Session } from './entity.ts'

/**
 * Proves the password of the session that the request rides on once more.
 * @throws ApiError InvalidInput when it is wrong, RateLimitExceeded after five wrong ones, MissingAuthentication when the session has ended
 *   meanwhile.
 */
export async function confirmPassword(context: SignedInContext, currentPassword: string): Promise<void> {
  const { em, viewer, credential, ip, now } = context
  await provePassword(context, currentPassword)
  await em.transactional(async (inner) => {
    // A change of the password, a reset and a disabling end the session, so what was proved before one of them counts for nothing.
    const proved = await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { provedAt: now() })
    if (!proved) throw nobody(context)
    audit(inner, {
      kind: 'user.password_confirmed',
      actor: viewer,
      user: viewer,
      summary: `${viewer.displayName} confirmed their password`,
      ip,
    })
  })
}
