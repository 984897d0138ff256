import type { Loaded } from '@mikro-orm/core'
import { audit } from '../audit/service.ts'
import type { Context } from '../access/context.ts'
import { ApiError, missingAuthentication } from '../errors.ts'
import { isSecure, setSessionCookies } from '../http/cookies.ts'
import { csrfToken } from '../http/csrf.ts'
import { hmac, randomText, sha256 } from '../http/keys.ts'
import { countFailures, turnKey } from '../http/limits/limits.ts'
import { takeFairTurns } from '../threads/fair-turns.ts'
import { nextSlice } from '../threads/slices.ts'
import { User } from '../users/entity.ts'
import { type Hasher, hashPassword, needsRehash, requireHashingPlace, verifyPassword } from '../users/hashing.ts'
import { emailKey } from '../users/input.ts'
import type { Viewer } from '../roles/viewer.ts'
import { Session } from './entity.ts'
import { failuresKey, giveDevice, type Origin, originOf, rememberOrigin } from './origin.ts'

/** A session lasts 30 days at most. */
const lifetimeMs = 30 * 86_400_000

/** No more than two sign-ins are looked up at a time: a hundred at once would take every connection to the database from everybody else. */
const inTurn = takeFairTurns({ atOnce: 2, waiting: 2000, waitingPerKey: 500 })

type Account = Loaded<User, 'passwordHash'>
type NewSession = { id: string; secret: string }

/**
 * Signs in with e-mail and password and sets the session cookies.
 * @throws ApiError MissingAuthentication, the same for every reason; RateLimitExceeded for too many failures of the account.
 */
export async function signIn(context: Context, input: { email: string; password: string }): Promise<Viewer> {
  const { em, limits } = context
  const key = emailKey(input.email)
  const { user, origin } = await inTurn(turnKey(context.ip), () => lookUp(context, key))
  // Counted under a hash: sooner or later somebody types their password into the wrong field.
  const bucket = failuresKey(sha256(key), origin)
  const session = await countFailures(
    limits,
    'loginFailures',
    bucket,
    () => begin(context, user, input.password, origin),
    (begun) => begun === null,
  )
  if (!user || !session) return refuse(context, user)
  giveCookies(context, session)
  giveDevice(context, origin)
  return em.findOneOrFail(User, user.id, { populate: ['passwordHash'], refresh: true })
}

/**
 * Looks up who wants to sign in, and whether they did so from here before.
 * @throws ApiError RateLimitExceeded when there is no place for the password to be compared.
 */
async function lookUp(context: Context, key: string): Promise<{ user: Account | null; origin: Origin }> {
  const { em } = context
  await nextSlice()
  const user = await em.findOne(User, { emailKey: key }, { populate: ['passwordHash'], refresh: true })
  const origin = await originOf(context, user?.id)
  requireHashingPlace(hasherOf(context, origin))
  return { user, origin }
}

/** For whom the password is hashed: those who signed in from here before have places of their own. */
const hasherOf = ({ config, database, ip }: Context, { known }: Origin) => ({ config, database, ip, isKnown: known.length > 0 })

/** Begins a session when the password is right; null when it is not, or is no longer by the time the session would begin. */
async function begin(context: Context, user: Account | null, password: string, origin: Origin): Promise<NewSession | null> {
  const verified = user?.isActive ? (user.passwordHash ?? null) : null
  const fits = await verifyPassword(hasherOf(context, origin), password, verified)
  if (!user || !verified || !fits) return null
  const rehashed = needsRehash(verified, context.config.BCRYPT_COST) ? await rehash(hasherOf(context, origin), password) : null
  const session = await startSession(context, user, { verified, rehashed, origin })
  if (session) return session
  // The hash was replaced meanwhile: perhaps only by another sign-in that made it anew, and the password is still right.
  return begin(context, await context.em.findOne(User, user.id, { populate: ['passwordHash'], refresh: true }), password, origin)
}

type Proof = { verified: string; rehashed: string | null; origin: Origin }

/** Starts a session, unless the account was disabled or its hash replaced since it was verified: then null. */
async function startSession(context: Context, user: Account, { verified, rehashed, origin }: Proof): Promise<NewSession | null> {
  const { em, ip, now } = context
  const moment = now()
  return em.transactional(async (inner) => {
    // The condition is in the statement, which also locks the row: what changes the account next waits for it, and ends this session, too.
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

async function refuse({ em, ip }: Context, user: Account | null): Promise<never> {
  const summary = 'Someone tried to sign in with a wrong e-mail address or password'
  audit(em, { kind: 'user.login_failed', actor: null, ...(user && { user }), summary, ip })
  await em.flush()
  throw missingAuthentication('The e-mail address or the password is wrong.')
}

/** The password hashed at the cost that is configured now; null when too much waits to be hashed, for it can wait for another sign-in. */
function rehash(hasher: Hasher, password: string): Promise<string | null> {
  return hashPassword(hasher, password.normalize('NFC')).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'RateLimitExceeded') return null
    throw error
  })
}

const newSession = ({ ip, request }: Context, started: Date) => ({
  createdAt: started,
  lastUsedAt: started,
  expiresAt: new Date(started.getTime() + lifetimeMs),
  clientIp: ip,
  userAgent: (request.headers['user-agent'] ?? '').slice(0, 256),
})

function giveCookies({ reply, request, keys, config }: Context, { id, secret }: NewSession): void {
  const values = { session: secret, csrf: csrfToken(keys, id), maxAge: lifetimeMs / 1000 }
  setSessionCookies(reply, isSecure(request, config.SERVER_URL), values)
}
