import type { AuditEntry } from './entity.ts'
import type { AuditKind } from './service.ts'
import type { Context } from '../../platform/access/context.ts'
import { isServerAdmin, mayChangeOwnAccount } from '../../platform/access/roles.ts'

/** Kinds of events that affect the security of an account. */
const securityKinds = [
  'user.created',
  'user.updated',
  'user.login',
  'user.login_failed',
  'user.password_changed',
  'user.password_confirmed',
  'user.password_reset',
  'user.invite_created',
  'user.invite_accepted',
  'token.created',
  'token.rotated',
  'token.revoked',
  'token.reuse_detected',
  'session.revoked',
  'identity.linked',
  'identity.unlinked',
  'identity.confirmed',
  'passkey.added',
  'passkey.renamed',
  'passkey.removed',
  'passkey.disabled',
  'passkey.confirmed',
  'totp.confirmed',
  'totp.enabled',
  'totp.disabled',
  'recovery_codes.created',
  'user.second_factor_reset',
  'oauth.approved',
  'owner.transferred',
] satisfies AuditKind[]

/** Returns the condition for security events of this account. */
export const securityFilter = (userId: string) => ({ userId, kind: { $in: securityKinds } })

/**
 * Returns the condition for the entries that the caller may see: all for administrators, entries about the security of their own account for other
 * users, null for none.
 */
export function visibleEntries(context: Context): Partial<ReturnType<typeof securityFilter>> | null {
  if (isServerAdmin(context)) return {}
  return context.viewer && mayChangeOwnAccount(context) ? securityFilter(context.viewer.id) : null
}

/**
 * Returns whether the caller may see the IP address of an entry. Users see the addresses of actions on their own account by themselves or by
 * anonymous callers; administrators see all.
 */
export function canSeeAddress(context: Context, { actorId, userId, ...object }: AuditEntry): boolean {
  const { viewer } = context
  const isAboutAccount = !object.package && !object.publisher
  const isOwn = isAboutAccount && viewer !== null && viewer.id === userId && viewer.id === (actorId ?? userId)
  return isServerAdmin(context) || (isOwn && mayChangeOwnAccount(context))
}
