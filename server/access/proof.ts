import { passwordProofRequired } from '../errors.ts'
import type { SignedInContext } from './context.ts'

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
