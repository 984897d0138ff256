import type { Context } from '../../platform/access/context.ts'
import { isServerAdmin, mayChangeOwnAccount } from '../../platform/access/roles.ts'
import type { AuditEntry } from './entity.ts'
import { securityOf } from './history.ts'

/**
 * Returns the condition for the entries that the caller may see: all for administrators, entries about the security of their own account for other
 * users, null for none.
 */
export function visibleEntries(context: Context): Partial<ReturnType<typeof securityOf>> | null {
  if (isServerAdmin(context)) return {}
  return context.viewer && mayChangeOwnAccount(context) ? securityOf(context.viewer.id) : null
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
