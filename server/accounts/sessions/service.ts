import { LockMode, type Loaded } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { type DirectedPage, inOrderOfTime, newestFirst, type Sort } from '../../platform/graphql/connections.ts'
import { clearSessionCookies } from '../../platform/http/cookies.ts'
import { sessionLifetimes } from '../../platform/access/authenticate.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import { ProviderSession, Session } from './entity.ts'
import { unseal } from '../../platform/http/sealed.ts'
import type { FilterQuery } from '@mikro-orm/core'
import { User } from '../users/entity.ts'
import { editable, personId, reloadUser } from '../users/service.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import { provePassword } from '../users/password.ts'
import type { Services } from '../../services.ts'
import { collectOrigins } from './origin.ts'

/**
 * Ends the session of the request and clears its cookies. Tokens and other sessions remain valid.
 * @returns the URL that also signs out at the provider that started the session, if it has one.
 */
export async function signOut(context: Context): Promise<string | null> {
  const { em, credential, viewer, ip, keys } = context
  let endSessionUrl: string | null = null
  if (credential?.kind === 'session') {
    await em.transactional(async (inner) => {
      const started = credential.way === 'provider' ? await inner.findOne(ProviderSession, { session: credential.id }) : null
      endSessionUrl = started?.endSessionUrl ? unseal(keys, started.endSessionUrl) : null
      const ended = await inner.nativeDelete(Session, { id: credential.id })
      const summary = `${viewer?.displayName} signed out`
      if (ended) audit(inner, { kind: 'session.revoked', actor: viewer, ...(viewer && { user: viewer }), summary, ip })
    })
  }
  clearSessionCookies(context.reply, context.config.SERVER_URL)
  return endSessionUrl
}

/** Lists a user's sessions that are active at `now`, as a connection, newest first by default. */
export const listSessions = (em: EntityManager, userId: string, { now, ...page }: Page) =>
  newestFirst(em, Session, liveSessions(userId, now), page)

/** Returns the condition for a user's active sessions. */
const liveSessions = (userId: string, now: Date) => ({ user: userId, ...sessionIsLive(now) })

/** Returns the condition for active sessions: younger than 30 days and used within the last 7 days. */
export const sessionIsLive = (now: Date) => ({
  expiresAt: { $gt: now },
  lastUsedAt: { $gt: new Date(now.getTime() - sessionLifetimes.idleMs) },
})

/**
 * Ends one of the caller's own sessions immediately. Ending the session of the request signs the caller out.
 * @throws ApiError NotFound when the session belongs to another user or has ended.
 */
export async function revokeSession(context: SignedInContext, id: string): Promise<Session> {
  const { em, viewer, credential, ip, now } = context
  const session = await em.transactional(async (inner) => {
    const own = await inner.findOne(Session, { ...liveSessions(viewer.id, now()), id })
    // Of two concurrent requests, only one ends the session and writes an audit entry.
    if (!own || !(await inner.nativeDelete(Session, { id }))) throw notFound('You have no session with this id.')
    audit(inner, { kind: 'session.revoked', actor: viewer, user: viewer, summary: `${viewer.displayName} ended a session`, ip })
    return own
  })
  if (credential.id === id) clearSessionCookies(context.reply, context.config.SERVER_URL)
  return session
}

/** Ends all sessions of the caller except the session of the request, if any. @returns the number of ended sessions. */
export async function revokeOtherSessions({ em, viewer, credential, ip }: SignedInContext): Promise<number> {
  return em.transactional(async (inner) => {
    const ended = await revokeSessions(inner, viewer.id, credential.kind === 'session' ? credential.id : undefined)
    const summary = `${viewer.displayName} ended ${ended} other ${ended === 1 ? 'session' : 'sessions'}`
    if (ended) audit(inner, { kind: 'session.revoked', actor: viewer, user: viewer, summary, ip })
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

/**
 * Locks the caller's account, and the session or token of the request, until the end of the transaction. Changes of what signs in to an account start
 * with it: they happen one after the other, and a session that has ended makes none.
 * @throws ApiError MissingAuthentication when the account was disabled, or the session or token has ended, since the request was authenticated.
 */
export async function lockAccount(em: EntityManager, context: SignedInContext): Promise<Loaded<User, 'passwordHash'>> {
  const account = await lockIfSignedIn(em, context)
  if (!account) throw unauthenticated(context)
  return account
}

/** Returns the same, or null in place of an error. */
export async function lockIfSignedIn(
  em: EntityManager,
  { viewer: { id }, credential }: SignedInContext,
): Promise<Loaded<User, 'passwordHash'> | null> {
  // Write first: SQLite fails a write that follows a read. Sessions and tokens are locked after their user, as when an account is disabled.
  const isActive = await em.nativeUpdate(User, { id, isActive: true }, { isActive: true })
  const isLive = isActive > 0 && (await (credential.kind === 'session' ? lockSession(em, credential.id) : lockToken(em, credential.id)))
  return isLive ? reloadUser(em, id) : null
}

const lockSession = async (em: EntityManager, id: string): Promise<boolean> =>
  (await em.findOne(Session, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })) !== null

const lockToken = async (em: EntityManager, id: string): Promise<boolean> =>
  (await changeRows(em, db.updateTable('access_tokens').set({ revoked_at: null }).where('id', '=', id).where('revoked_at', 'is', null))) > 0

type SessionFilter = {
  /** The owner of the sessions: an e-mail address or an id. */
  user?: string | null | undefined
  clientIp?: string | null | undefined
  /** Only sessions that have not been used since this time. */
  unusedSince?: Date | null | undefined
}
export type SessionOrder = 'created' | 'lastUsed'
type Page = DirectedPage & { now: Date }

/** Lists the sessions of all users that are active at `now`, as a connection; for administrators. */
export async function listAllSessions(em: EntityManager, filter: SessionFilter, { by, direction }: Sort<SessionOrder>, page: Page) {
  const where = await conditions(em, filter, page.now)
  if (by === 'created') return newestFirst(em, Session, where, { ...page, direction })
  return inOrderOfTime(em, Session, { by: 'lastUsedAt', direction }, where, page)
}

async function conditions(em: EntityManager, { user, clientIp, unusedSince }: SessionFilter, now: Date): Promise<FilterQuery<Session>> {
  const all: FilterQuery<Session>[] = [sessionIsLive(now)]
  if (user) all.push({ user: await personId(em, user) })
  if (clientIp) all.push({ clientIp })
  if (unusedSince) all.push({ lastUsedAt: { $lt: unusedSince } })
  return { $and: all }
}

/**
 * Ends a session of any user immediately, for administrators.
 * @throws ApiError NotFound for an unknown or ended session; InsufficientPermissions for sessions of the owner.
 */
export async function revokeUserSession({ em, viewer, ip, now }: SignedInContext, id: string): Promise<Session> {
  return em.transactional(async (inner) => {
    const session = await inner.findOne(Session, { ...sessionIsLive(now()), id })
    const user = session && (await editable(inner, session.user.id))
    if (!user || !(await inner.nativeDelete(Session, { id }))) throw notFound('There is no session with this id.')
    const summary = `${viewer.displayName} ended a session of ${user.displayName}`
    audit(inner, { kind: 'session.revoked', actor: viewer, user, summary, ip })
    return session
  })
}

/**
 * Ends all sessions of a user immediately, for administrators.
 * @returns the number of ended sessions.
 * @throws ApiError NotFound; InsufficientPermissions for sessions of the owner.
 */
export async function revokeUserSessions({ em, viewer, ip }: SignedInContext, userId: string): Promise<number> {
  return em.transactional(async (inner) => {
    const user = await editable(inner, userId)
    const ended = await revokeSessions(inner, userId)
    const summary = `${viewer.displayName} ended ${ended} ${ended === 1 ? 'session' : 'sessions'} of ${user.displayName}`
    if (ended) audit(inner, { kind: 'session.revoked', actor: viewer, user, summary, ip })
    return ended
  })
}

/**
 * Confirms the password again for the session of the request.
 * @throws ApiError InvalidInput for a wrong password; RateLimitExceeded after five wrong ones; MissingAuthentication when the session has ended
 * in the meantime.
 */
export async function confirmPassword(context: SignedInContext, currentPassword: string): Promise<void> {
  const { em, viewer, credential, ip, now } = context
  await provePassword(context, currentPassword)
  await em.transactional(async (inner) => {
    // Changing or resetting the password and disabling the account end the session, so a confirmation that raced with them has no effect.
    const proved = await inner.nativeUpdate(Session, { id: credential.id, user: viewer.id }, { provedAt: now() })
    if (!proved) throw unauthenticated(context)
    const summary = `${viewer.displayName} confirmed their password`
    audit(inner, { kind: 'user.password_confirmed', actor: viewer, user: viewer, summary, ip })
  })
}

/**
 * Deletes ended sessions, and the origins of sign-ins that have not been used for a year.
 * @returns the number of deleted sessions.
 */
export async function collectSessions({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> {
  const em = database.fork()
  const moment = now()
  const idleSince = new Date(moment.getTime() - sessionLifetimes.idleMs)
  const ended = await em.nativeDelete(Session, { $or: [{ expiresAt: { $lte: moment } }, { lastUsedAt: { $lte: idleSince } }] })
  await collectOrigins(em, moment)
  return ended
}
