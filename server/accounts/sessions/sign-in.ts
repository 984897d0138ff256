import type { Loaded } from '@mikro-orm/core'
import { audit } from '../audit/service.ts'
import { sessionLifetimes } from '../../platform/access/authenticate.ts'
import type { Context } from '../../platform/access/context.ts'
import { ApiError, missingAuthentication } from '../../errors.ts'
import { setSessionCookies, csrfToken } from '../../platform/http/cookies.ts'
import { hmac, randomText, sha256 } from '../../platform/http/keys.ts'
import { countFailures, networkKeys, fairQueueKey } from '../../platform/http/limits.ts'
import { createFairLimiter, type FairLimiter } from '../../platform/threads/fair-limiter.ts'
import { yieldToEventLoop } from '../../platform/threads/slices.ts'
import { User } from '../users/entity.ts'
import { type Hasher, hashPassword, needsRehash, requireHashingPlace, verifyPassword } from '../users/hashing.ts'
import { emailKey } from '../users/input.ts'
import type { Viewer } from '../../platform/access/roles.ts'
import { Session } from './entity.ts'
import { failuresKey, sendDeviceCookie, type Origin, originOf, rememberOrigin } from './origin.ts'
import { reloadUser } from '../users/service.ts'

declare module '../../services.ts' {
  interface State {
    signInTurns?: FairLimiter
  }
}

/** Limits sign-ins to two concurrent lookups. A burst would otherwise use up all database connections. */
const turnsOf = ({ state }: Context): FairLimiter =>
  (state.signInTurns ??= createFairLimiter({ atOnce: 2, waiting: 2000, waitingPerKey: 500, newcomersFirst: true }))

type Account = Loaded<User, 'passwordHash'>
type NewSession = { id: string; secret: string }

/**
 * Signs in with e-mail address and password and sets the session cookies.
 * @throws ApiError MissingAuthentication, with the same message for every reason; RateLimitExceeded after too many failures for the account.
 */
export async function signIn(context: Context, input: { email: string; password: string }): Promise<Viewer> {
  const { em, limits } = context
  const key = emailKey(input.email)
  // The e-mail address is hashed, because users sometimes type their password into the wrong field.
  const account = sha256(key)
  const place = { sources: networkKeys(context.ip) }
  const { user, ...caller } = await turnsOf(context)(fairQueueKey(context.ip), () => lookUp(context, key, account), place)
  const { origin } = caller
  const attempt = () => begin(context, user, { ...caller, password: input.password })
  const session = await countFailures(limits, 'loginFailures', failuresKey(account, origin), attempt, (begun) => begun === null)
  if (!user || !session) return rejectSignIn(context, user)
  sendCookies(context, session)
  sendDeviceCookie(context, origin)
  return reloadUser(em, user.id)
}

type SignInCaller = { origin: Origin; hasher: Hasher & Pick<Context, 'database'> }

/**
 * Looks up the account and whether it has signed in from this origin before.
 * @throws ApiError RateLimitExceeded when the queue for password hashing is full.
 */
async function lookUp(context: Context, key: string, account: string): Promise<SignInCaller & { user: Account | null }> {
  const { em, config, database, state, ip } = context
  await yieldToEventLoop()
  const user = await em.findOne(User, { emailKey: key }, { populate: ['passwordHash'], refresh: true })
  const origin = await originOf(context, user?.id)
  // Known origins have their own capacity.
  const hasher = { config, database, state, ip, account, isKnown: origin.known.length > 0 }
  requireHashingPlace(hasher)
  return { user, origin, hasher }
}

type Attempt = SignInCaller & { password: string }

/** Starts a session if the password is right; returns null if it is wrong, or was changed before the session could start. */
async function begin(context: Context, user: Account | null, attempt: Attempt): Promise<NewSession | null> {
  const { hasher, password, origin } = attempt
  const verified = user?.isActive ? (user.passwordHash ?? null) : null
  const fits = await verifyPassword(hasher, password, verified)
  if (!user || !verified || !fits) return null
  const rehashed = needsRehash(verified, context.config.BCRYPT_COST) ? await rehash(hasher, password) : null
  const session = await startSession(context, user, { verified, rehashed, origin })
  if (session) return session
  // The hash was replaced concurrently, possibly by a sign-in that only rehashed the same password. Verify again.
  return begin(context, await context.em.findOne(User, user.id, { populate: ['passwordHash'], refresh: true }), attempt)
}

type Proof = { verified: string; rehashed: string | null; origin: Origin }

/** Starts a session. Returns null if the account was disabled or its hash replaced since the verification. */
async function startSession(context: Context, user: Account, { verified, rehashed, origin }: Proof): Promise<NewSession | null> {
  const { em, ip, now } = context
  const moment = now()
  return em.transactional(async (inner) => {
    // The update checks the condition and locks the row. Later changes of the account wait for it, and then end the new session, too.
    const still = { id: user.id, isActive: true, passwordHash: verified }
    const current = await inner.nativeUpdate(User, still, { lastLoginAt: moment, ...(rehashed && { passwordHash: rehashed }) })
    if (current === 0) return null
    await rememberOrigin(inner, user.id, origin, moment)
    audit(inner, { kind: 'user.login', actor: user, user, summary: `${user.displayName} signed in`, ip })
    const secret = randomText(32)
    const { id } = inner.create(Session, { ...newSession(context, moment), hash: hmac(context.keys.session, secret), user: user.id })
    await inner.flush()
    return { id, secret }
  })
}

async function rejectSignIn({ em, ip }: Context, user: Account | null): Promise<never> {
  const summary = 'Someone tried to sign in with a wrong e-mail address or password'
  audit(em, { kind: 'user.login_failed', actor: null, ...(user && { user }), summary, ip })
  await em.flush()
  throw missingAuthentication('The e-mail address or the password is wrong.')
}

/** Hashes the password with the current cost. Returns null if the hashing queue is full, since rehashing can wait for another sign-in. */
function rehash(hasher: Hasher, password: string): Promise<string | null> {
  return hashPassword(hasher, password.normalize('NFC')).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'RateLimitExceeded') return null
    throw error
  })
}

const newSession = ({ ip, request }: Context, started: Date) => ({
  createdAt: started,
  lastUsedAt: started,
  expiresAt: new Date(started.getTime() + sessionLifetimes.totalMs),
  clientIp: ip,
  userAgent: (request.headers['user-agent'] ?? '').slice(0, 256),
})

function sendCookies({ reply, keys, config }: Context, { id, secret }: NewSession): void {
  const values = { session: secret, csrf: csrfToken(keys, id), maxAge: sessionLifetimes.totalMs / 1000 }
  setSessionCookies(reply, config.SERVER_URL, values)
}
