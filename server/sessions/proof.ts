import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../context.ts'
import { passwordProofRequired } from '../errors.ts'
import { nobody } from '../access/refusal.ts'
import { provePassword } from '../accounts/service.ts'
import { Session } from './entity.ts'

/** For so long after a password was proved, a session may do what an unlocked browser should not. */
const recentMs = 10 * 60_000

/**
 * Asks a session for a password that was proved within the last ten minutes: by signing in, or by confirming it since. Tokens act as their
 * scopes say.
 * @throws ApiError InsufficientPermissions, marked so that the console asks for the password and goes on.
 */
export function requireRecentProof({ credential, now }: Pick<SignedInContext, 'credential' | 'now'>): void {
  if (credential.kind === 'session' && credential.provedAt.getTime() + recentMs <= now().getTime()) throw passwordProofRequired()
}

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
