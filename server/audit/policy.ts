import type { Context } from '../access/context.ts'
import { isServerAdmin, mayChangeOwnAccount } from '../roles/viewer.ts'
import type { AuditEntry } from './entity.ts'
import { securityOf } from './history.ts'

/** Server admins see every entry, others those about the security of their own account, as a condition; null for nobody's. */
export function entriesSeen(context: Context): Partial<ReturnType<typeof securityOf>> | null {
  if (isServerAdmin(context)) return {}
  return context.viewer && mayChangeOwnAccount(context) ? securityOf(context.viewer.id) : null
}

/** What somebody did to their own account, or what nobody known did to it, came from where they ought to know; server admins know of all. */
export function canSeeAddress(context: Context, { actorId, userId, ...object }: AuditEntry): boolean {
  const { viewer } = context
  const isAboutAccount = !object.package && !object.publisher
  const isOwn = isAboutAccount && viewer !== null && viewer.id === userId && viewer.id === (actorId ?? userId)
  return isServerAdmin(context) || (isOwn && mayChangeOwnAccount(context))
}
