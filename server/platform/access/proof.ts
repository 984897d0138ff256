import { passwordProofRequired } from '../../errors.ts'
import type { SignedInContext } from './context.ts'

/** How long a password confirmation is valid for sensitive operations, which an unlocked browser alone should not allow. */
const recentMs = 10 * 60_000

/**
 * Requires that the session's password was confirmed in the last ten minutes, by signing in or explicitly. Tokens are limited by their scopes
 * instead.
 * @throws ApiError InsufficientPermissions with a marker that makes the console ask for the password and retry.
 */
export function requireRecentProof({ credential, now }: Pick<SignedInContext, 'credential' | 'now'>): void {
  if (credential.kind === 'session' && credential.provedAt.getTime() + recentMs <= now().getTime()) throw passwordProofRequired()
}
