import type { Loaded } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context } from '../../platform/access/context.ts'
import { ApiError, missingAuthentication, secondFactorRequired } from '../../errors.ts'
import { sha256 } from '../../platform/http/keys.ts'
import { addressKey, countFailures, networkKeys, fairQueueKey } from '../../platform/http/limits.ts'
import { createFairLimiter, type FairLimiter } from '../../platform/threads/fair-limiter.ts'
import { yieldToEventLoop } from '../../platform/threads/slices.ts'
import { type Codes, factorWays, findTotp, isReadable, useCode } from '../factors/codes.ts'
import { Totp } from '../factors/entity.ts'
import { User } from '../users/entity.ts'
import { type Hasher, hashPassword, needsRehash, requireHashingPlace, verifyPassword } from '../users/hashing.ts'
import { emailKey } from '../users/input.ts'
import { maySignInWithPassword, type Viewer } from '../../platform/access/roles.ts'
import { failuresKey, type Origin, originOf } from './origin.ts'
import { countSignInFailure, type NewSession, sendSession, startSession } from './start.ts'
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

/**
 * Signs in with e-mail address and password and sets the session cookies.
 * @throws ApiError MissingAuthentication, with the same message for every wrong password, and with `secondFactor` for a right one without a right code
 * of an account with a second factor; RateLimitExceeded after too many failures for the account.
 */
export async function signIn(context: Context, input: Codes & { email: string; password: string }): Promise<Viewer> {
  try {
    return await attemptSignIn(context, input)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RateLimitExceeded') countSignInFailure(context, 'rate_limited')
    throw error
  }
}

async function attemptSignIn(context: Context, input: Codes & { email: string; password: string }): Promise<Viewer> {
  const { em, limits } = context
  const key = emailKey(input.email)
  // The e-mail address is hashed, because users sometimes type their password into the wrong field.
  const account = sha256(key)
  const place = { sources: networkKeys(context.ip) }
  const { user, ...caller } = await turnsOf(context)(fairQueueKey(context.ip), () => lookUp(context, key, account), place)
  const { origin } = caller
  const attempt = () => begin(context, user, { ...caller, ...input, account })
  const session = await countFailures(
    limits,
    'loginFailures',
    failuresKey(account, origin),
    attempt,
    (begun) => begun === null || begun === wrongCode,
  )
  if (user && session === wrongCode) return rejectCode(context, user)
  if (!user || !session || session === wrongCode) return rejectSignIn(context, user)
  sendSession(context, session, origin)
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

type Attempt = SignInCaller & Codes & { account: string; password: string; totp?: Totp | null }

const wrongCode = 'wrongCode'
const enterCode = 'Enter the code of your authenticator app, or a recovery code.'

/**
 * Starts a session if the password is right, and the code of an account with an authenticator app. Returns null if the password is wrong, or was
 * changed before the session could start.
 * @throws ApiError MissingAuthentication with `secondFactor` if the code is missing; MissingAuthentication if the app was removed after its code was checked.
 */
async function begin(context: Context, user: Account | null, attempt: Attempt): Promise<NewSession | typeof wrongCode | null> {
  const { hasher, password, origin } = attempt
  const mayVerify = user?.isActive && maySignInWithPassword({ role: user.role, hasPassword: user.passwordHash != null }, context.config)
  const verified = mayVerify ? (user.passwordHash ?? null) : null
  const fits = await verifyPassword(hasher, password, verified)
  if (!user || !verified || !fits) return null
  const totp = attempt.totp === undefined ? await proveSecondFactor(context, user, attempt) : attempt.totp
  if (totp === wrongCode) return wrongCode
  const rehashed = needsRehash(verified, context.config.BCRYPT_COST) ? await rehash(hasher, password) : null
  const changes = rehashed === null ? {} : { passwordHash: rehashed }
  const session = await startSession(context, user, {
    way: 'password',
    origin,
    hasSecondFactor: totp !== null,
    step: totp ? (attempt.otp ? 'authenticator_app' : 'recovery_code') : undefined,
    still: { passwordHash: verified },
    changes,
    also: (inner) => requireUnchanged(inner, totp),
  })
  if (session && totp) await refundRequest(context)
  if (session) return session
  // The hash was replaced concurrently, possibly by a sign-in that only rehashed the same password. Verify again.
  return begin(context, await context.em.findOne(User, user.id, { populate: ['passwordHash'], refresh: true }), {
    ...attempt,
    totp,
  })
}

/** Throws MissingAuthentication if the authenticator app whose code was accepted has been removed or reset. */
async function requireUnchanged(em: EntityManager, totp: Totp | null): Promise<void> {
  if (totp && !(await em.count(Totp, { user: totp.user.id, confirmedAt: totp.confirmedAt })))
    throw missingAuthentication('Your authenticator app was removed in the meantime. Sign in again.')
}

const onlyPasskey = 'Your account has a passkey. Sign in with the passkey instead of the password.'
const lostSecret =
  'The server cannot decrypt the secret of your authenticator app any more. Use a recovery code or a passkey, or ask an administrator to reset your second factor.'

/** Returns the point of a sign-in with a second factor to the limit of its address, which many people can share. */
const refundRequest = ({ limits, ip }: Context): Promise<void> => limits.refund('login', addressKey(ip))

/**
 * Returns the authenticator app for which a right code was sent, which is used up; null for an account without a second factor.
 * @throws ApiError MissingAuthentication with `secondFactor` if no code was sent, and for an account whose only second factor is a passkey.
 */
async function proveSecondFactor(context: Context, { id }: Account, attempt: Attempt): Promise<Totp | null | typeof wrongCode> {
  const totp = await findTotp(context.em, id)
  const canUseCode = totp !== null && (attempt.recoveryCode || (attempt.otp && isReadable(context, totp)))
  if (!canUseCode) {
    const ways = await factorWays(context, id, totp)
    if (totp === null && ways.length === 0) return null
    await refundRequest(context)
    throw secondFactorRequired(totp === null ? onlyPasskey : isReadable(context, totp) ? enterCode : lostSecret, ways)
  }
  const key = failuresKey(attempt.account, attempt.origin)
  const isRight = await countFailures(
    context.limits,
    'wrongCode',
    key,
    () => useCode(context, totp, attempt),
    (right) => !right,
  )
  return isRight ? totp : wrongCode
}

async function rejectCode(context: Context, user: Account): Promise<never> {
  const { em, ip } = context
  countSignInFailure(context, 'wrong_code')
  const summary = `Someone tried to sign in as ${user.displayName} with the right password and a wrong code`
  audit(em, { kind: 'user.login_failed', actor: null, user, summary, ip })
  await em.flush()
  throw secondFactorRequired('The code is wrong or was used already.', await factorWays(context, user.id, await findTotp(em, user.id)))
}

async function rejectSignIn(context: Context, user: Account | null): Promise<never> {
  const { em, ip, config } = context
  countSignInFailure(context, 'wrong_password')
  const summary = 'Someone tried to sign in with a wrong e-mail address or password'
  audit(em, { kind: 'user.login_failed', actor: null, ...(user && { user }), summary, ip })
  await em.flush()
  throw missingAuthentication(
    config.PASSWORD_SIGN_IN === 'all'
      ? 'The e-mail address or the password is wrong.'
      : 'The e-mail address or the password is wrong, or you are not the owner: everyone else signs in through a provider here.',
  )
}

/** Hashes the password with the current cost. Returns null if the hashing queue is full, since rehashing can wait for another sign-in. */
function rehash(hasher: Hasher, password: string): Promise<string | null> {
  return hashPassword(hasher, password.normalize('NFC')).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'RateLimitExceeded') return null
    throw error
  })
}
