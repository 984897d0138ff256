import type { EntityManager } from '@mikro-orm/sql'
import { newestFirst, type PageArguments } from '../../platform/graphql/connections.ts'
import { AuditEntry } from './entity.ts'
import type { AuditKind } from './service.ts'

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
  'token.revoked',
  'token.reuse_detected',
  'session.revoked',
  'oauth.approved',
  'owner.transferred',
] satisfies AuditKind[]

/** Returns the condition for security events of this account. */
export const securityOf = (userId: string) => ({ userId, kind: { $in: securityKinds } })

/** Lists security events of an account as a connection, newest first. */
export const listSecurityHistory = (em: EntityManager, userId: string, page: PageArguments) =>
  newestFirst(em, AuditEntry, securityOf(userId), page)
