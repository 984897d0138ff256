import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context } from '../context.ts'
import { missingAuthentication } from '../errors.ts'
import { clearSessionCookies, isSecure, setSessionCookies } from '../http/cookies.ts'
import { csrfToken } from '../http/csrf.ts'
import { hmac, randomText } from '../http/keys.ts'
import { addressKey } from '../http/limits.ts'
import { User } from '../users/entity.ts'
import { emailKey } from '../users/input.ts'
import { hashPassword, needsRehash, verifyPassword } from '../users/password.ts'
import type { Viewer } from '../users/policy.ts'
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
  await limits.use('login', addressKey(ip))
  await limits.check('loginFailures', key)
  const user = await em.findOne(User, { emailKey: key }, { populate: ['passwordHash'] })
  const fits = await verifyPassword(input.password, user?.isActive ? (user.passwordHash ?? null) : null, config.BCRYPT_COST)
  if (!user || !fits) {
    await limits.use('loginFailures', key)
    audit(em, { kind: 'user.login_failed', actor: null, ...(user && { user }), summary: 'Somebody tried to sign in with a wrong e-mail address or password', ip })
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
    const ended = await em.nativeDelete(Session, { id: credential.id })
    if (ended) audit(em, { kind: 'session.revoked', actor: viewer, ...(viewer && { user: viewer }), summary: `${viewer?.displayName} signed out`, ip })
    await em.flush()
  }
  clearSessionCookies(context.reply, isSecure(context.request, context.config.SERVER_URL))
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
