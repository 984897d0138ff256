import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../context.ts'
import { missingAuthentication, notFound } from '../errors.ts'
import { clearSessionCookies, isSecure, setSessionCookies } from '../http/cookies.ts'
import { csrfToken } from '../http/csrf.ts'
import { hmac, randomText, sha256 } from '../http/keys.ts'
import { addressKey } from '../http/limits.ts'
import { User } from '../users/entity.ts'
import { emailKey } from '../users/input.ts'
import { hashPassword, needsRehash, verifyPassword } from '../users/password.ts'
import type { Viewer } from '../users/policy.ts'
import { sessionIdleMs } from './authenticate.ts'
import { Session } from './entity.ts'

/** A session lasts 30 days at most (decisions §4). */
const lifetimeMs = 30 * 86_400_000

/**
 * Signs in with e-mail and password and sets the session cookies.
 * @throws ApiError MissingAuthentication, the same for every reason; RateLimitExceeded.
 */
export async function signIn(context: Context, input: { email: string; password: string }): Promise<Viewer> {
  const { em, ip, limits, config } = context
  const key = emailKey(input.email)
  // Counted under a hash: sooner or later somebody types their password into the wrong field.
  const account = sha256(key)
  await limits.use('login', addressKey(ip))
  await limits.check('loginFailures', account)
  const user = await em.findOne(User, { emailKey: key }, { populate: ['passwordHash'] })
  const fits = await verifyPassword(input.password, user?.isActive ? (user.passwordHash ?? null) : null, config.BCRYPT_COST)
  if (!user || !fits) {
    await limits.use('loginFailures', account)
    audit(em, {
      kind: 'user.login_failed',
      actor: null,
      ...(user && { user }),
      summary: 'Somebody tried to sign in with a wrong e-mail address or password',
      ip,
    })
    await em.flush()
    throw missingAuthentication('The e-mail address or the password is wrong.')
  }
  await refreshHash(user, input.password, config.BCRYPT_COST)
  user.lastLoginAt = context.now()
  audit(em, { kind: 'user.login', actor: user, user, summary: `${user.displayName} signed in`, ip })
  const session = startSession(em, user, context)
  await em.flush()
  giveCookies(context, session)
  return user
}

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

/** Somebody's sessions that still work at `now`, newest first; `before` is the id of the last one of the page before. */
export function listSessions(
  em: EntityManager,
  userId: string,
  page: { now: Date; limit: number; before?: string | undefined },
): Promise<Session[]> {
  return em.find(
    Session,
    { ...liveSessions(userId, page.now), ...(page.before && { id: { $lt: page.before } }) },
    { orderBy: { id: 'desc' }, limit: page.limit },
  )
}

/** How many sessions of somebody still work at `now`. */
export const countSessions = (em: EntityManager, userId: string, now: Date): Promise<number> => em.count(Session, liveSessions(userId, now))

/** What tells somebody's live sessions from those that 30 days, or 7 days without use, have ended. */
export const liveSessions = (userId: string, now: Date) => ({ user: userId, ...sessionIsLive(now) })

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

type NewSession = { session: Session; secret: string }

function startSession(em: EntityManager, user: User, { ip, request, keys, now }: Context): NewSession {
  const secret = randomText(32)
  const started = now()
  const session = em.create(Session, {
    user,
    hash: hmac(keys.session, secret),
    createdAt: started,
    lastUsedAt: started,
    expiresAt: new Date(started.getTime() + lifetimeMs),
    clientIp: ip,
    userAgent: (request.headers['user-agent'] ?? '').slice(0, 256),
  })
  return { session, secret }
}

function giveCookies({ reply, request, keys, config }: Context, { session, secret }: NewSession): void {
  const values = { session: secret, csrf: csrfToken(keys, session.id), maxAge: lifetimeMs / 1000 }
  setSessionCookies(reply, isSecure(request, config.SERVER_URL), values)
}

async function refreshHash(user: User, password: string, cost: number): Promise<void> {
  if (user.passwordHash && needsRehash(user.passwordHash, cost)) user.passwordHash = await hashPassword(password.normalize('NFC'), cost)
}
