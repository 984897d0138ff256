import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../access/context.ts'
import { notFound } from '../errors.ts'
import { newestFirst, type PageArguments } from '../graphql/connections.ts'
import { clearSessionCookies, isSecure } from '../http/cookies.ts'
import { sessionIdleMs } from '../access/authenticate.ts'
import { Session } from './entity.ts'

/** Ends the session that the request rides on and clears its cookies; tokens and other sessions stay. */
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

/** Somebody's sessions that still work at `now`, as a connection, the newest first. */
export const listSessions = (em: EntityManager, userId: string, { now, ...page }: PageArguments & { now: Date }) =>
  newestFirst(em, Session, liveSessions(userId, now), page)

/** What tells somebody's live sessions from those that 30 days, or 7 days without use, have ended. */
const liveSessions = (userId: string, now: Date) => ({ user: userId, ...sessionIsLive(now) })

/** The same, whosever it is. */
export const sessionIsLive = (now: Date) => ({
  expiresAt: { $gt: now },
  lastUsedAt: { $gt: new Date(now.getTime() - sessionIdleMs) },
})

/**
 * Ends one of the caller's own sessions at once. Ending the one that the request rides on is signing out.
 * @throws ApiError NotFound when it is not theirs, or has ended.
 */
export async function revokeSession(context: SignedInContext, id: string): Promise<Session> {
  const { em, viewer, credential, ip, now } = context
  const session = await em.findOne(Session, { ...liveSessions(viewer.id, now()), id })
  const ended =
    session !== null &&
    (await em.transactional(async (inner) => {
      // Of two requests at once only one ends it, and only one tells of it.
      const won = (await inner.nativeDelete(Session, { id, user: viewer.id })) > 0
      if (won) audit(inner, { kind: 'session.revoked', actor: viewer, user: viewer, summary: `${viewer.displayName} ended a session`, ip })
      return won
    }))
  if (!ended) throw notFound('You have no session with this id.')
  if (credential.id === id) clearSessionCookies(context.reply, isSecure(context.request, context.config.SERVER_URL))
  return session
}

/** Ends all of the caller's sessions but the one that the request rides on; a token rides on none. @returns how many ended. */
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
 * Ends every session of somebody, but for the one with the id `except`. It joins the transaction of `em`, if there is one.
 * @returns how many ended.
 */
export function revokeSessions(em: EntityManager, userId: string, except?: string): Promise<number> {
  return em.nativeDelete(Session, { user: userId, ...(except && { id: { $ne: except } }) })
}
