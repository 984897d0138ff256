import type { EntityManager } from '@mikro-orm/sql'
import { newestFirst, type PageArguments } from '../graphql/connections.ts'
import { AuditEntry } from './entity.ts'
import type { AuditKind } from './service.ts'

/** What concerns who gets into an account. */
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

/** The entries about the security of this account. */
export const securityOf = (userId: string) => ({ userId, kind: { $in: securityKinds } })

/** What happened around who gets into an account, newest first, as a connection. */
export const listSecurityHistory = (em: EntityManager, userId: string, page: PageArguments) =>
  newestFirst(em, AuditEntry, securityOf(userId), page)
