import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { newestFirst, type PageArguments } from '../../platform/graphql/connections.ts'
import { clearSessionCookies, isSecure } from '../../platform/http/cookies.ts'
import { sessionIdleMs } from '../../platform/access/authenticate.ts'
import { Session } from './entity.ts'

/** Ends the session of the request and clears its cookies. Tokens and other sessions remain valid. */
export async function signOut(context: Context): Promise<void> {
  const { em, credential, viewer, ip } = context
  if (credential?.kind === 'session') {
    await em.transactional(async (inner) => {
      const ended = await inner.nativeDelete(Session, { id: credential.id })
      const summary = `${viewer?.displayName} signed out`
      if (ended) audit(inner, { kind: 'session.revoked', actor: viewer, ...(viewer && { user: viewer }), summary, ip })
    })
  }
  clearSessionCookies(context.reply, isSecure(context.request, context.config.SERVER_URL))
}

/** Lists a user's sessions that are active at `now`, as a connection, newest first. */
export const listSessions = (em: EntityManager, userId: string, { now, ...page }: PageArguments & { now: Date }) =>
  newestFirst(em, Session, liveSessions(userId, now), page)

/** Returns the condition for a user's active sessions. */
const liveSessions = (userId: string, now: Date) => ({ user: userId, ...sessionIsLive(now) })

/** Returns the condition for active sessions: younger than 30 days and used within the last 7 days. */
export const sessionIsLive = (now: Date) => ({
  expiresAt: { $gt: now },
  lastUsedAt: { $gt: new Date(now.getTime() - sessionIdleMs) },
})

/**
 * Ends one of the caller's own sessions immediately. Ending the session of the request signs the caller out.
 * @throws ApiError NotFound when the session belongs to another user or has ended.
 */
export async function revokeSession(context: SignedInContext, id: string): Promise<Session> {
  const { em, viewer, credential, ip, now } = context
  const session = await em.findOne(Session, { ...liveSessions(viewer.id, now()), id })
  const ended =
    session !== null &&
    (await em.transactional(async (inner) => {
      // Of two concurrent requests, only one ends the session and writes an audit entry.
      const won = (await inner.nativeDelete(Session, { id, user: viewer.id })) > 0
      if (won) audit(inner, { kind: 'session.revoked', actor: viewer, user: viewer, summary: `${viewer.displayName} ended a session`, ip })
      return won
    }))
  if (!ended) throw notFound('You have no session with this id.')
  if (credential.id === id) clearSessionCookies(context.reply, isSecure(context.request, context.config.SERVER_URL))
  return session
}

/** Ends all sessions of the caller except the session of the request, if any. @returns the number of ended sessions. */
export async function revokeOtherSessions({ em, viewer, credential, ip }: SignedInContext): Promise<number> {
  return em.transactional(async (inner) => {
    const ended = await revokeSessions(inner, viewer.id, credential.kind === 'session' ? credential.id : undefined)
    if (ended)
      audit(inner, {
        kind: 'session.revoked',
        actor: viewer,
        user: viewer,
        summary: `${viewer.displayName} ended ${ended} other ${ended === 1 ? 'session' : 'sessions'}`,
        ip,
      })
    return ended
  })
}

/**
 * Ends all sessions of a user, except the session with the id `except`. Runs in the transaction of `em`, if there is one.
 * @returns the number of ended sessions.
 */
export function revokeSessions(em: EntityManager, userId: string, except?: string): Promise<number> {
  return em.nativeDelete(Session, { user: userId, ...(except && { id: { $ne: except } }) })
}
