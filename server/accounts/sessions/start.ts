import type { EntityManager } from '@mikro-orm/sql'
import type { EntityData, FilterQuery, RequiredEntityData } from '@mikro-orm/core'
import { audit } from '../audit/service.ts'
import { sessionLifetimes } from '../../platform/access/authenticate.ts'
import type { Context } from '../../platform/access/context.ts'
import { setSessionCookies, csrfToken } from '../../platform/http/cookies.ts'
import { hmac, randomText } from '../../platform/http/keys.ts'
import { User } from '../users/entity.ts'
import { Session, type SignInWay } from './entity.ts'
import { type Origin, rememberOrigin, sendDeviceCookie } from './origin.ts'

export type NewSession = { id: string; secret: string }

/** Ways to sign in, as metrics count them. The second and third are a password with a second step. */
export const countedWays = ['password', 'authenticator_app', 'recovery_code', 'passkey', 'provider'] as const
type CountedWay = (typeof countedWays)[number]

declare module '../../services.ts' {
  interface State {
    /** Sign-ins by way, and failed ones by reason, since this process started. */
    signIns?: Map<CountedWay, number>
    signInFailures?: Map<string, number>
  }
}

/** Counts a failed sign-in. The reasons must be a fixed set, because each is a series of the metrics. */
export function countSignInFailure({ state }: Pick<Context, 'state'>, reason: string): void {
  const counts = (state.signInFailures ??= new Map<string, number>())
  counts.set(reason, (counts.get(reason) ?? 0) + 1)
}

/** A verified sign-in. */
export type VerifiedSignIn = {
  way: SignInWay
  /** The second step after a password. */
  step?: 'authenticator_app' | 'recovery_code' | undefined
  origin: Origin
  /** Whether the sign-in included a second factor, or a way that counts as two, such as a passkey. */
  hasSecondFactor?: boolean
  /** What must still hold for the account. The session is not started if it changed since the verification. */
  still?: FilterQuery<User>
  /** What changes in the account along with the sign-in. */
  changes?: EntityData<User>
  /** Further columns of the session. */
  columns?: Partial<RequiredEntityData<Session>>
  /** What else changes in the same transaction. */
  also?: (em: EntityManager, session: Session) => Promise<void>
  /** The sentence of the audit log. */
  summary?: string
}

/** Starts a session for a verified account. Returns null if the account was disabled, or changed as `still` describes, since the verification. */
export async function startSession(
  context: Context,
  user: Pick<User, 'id' | 'displayName'>,
  { way, step, origin, hasSecondFactor = false, still, changes, columns, also, summary = `${user.displayName} signed in` }: VerifiedSignIn,
): Promise<NewSession | null> {
  const { em, ip, now, keys, state } = context
  const moment = now()
  const begun = await em.transactional(async (inner) => {
    // The update checks the condition and locks the row. Later changes of the account wait for it, and then end the new session, too.
    const unchanged: FilterQuery<User> = { $and: [{ id: user.id, isActive: true }, still ?? {}] }
    const current = await inner.nativeUpdate(User, unchanged, { ...changes, lastLoginAt: moment })
    if (current === 0) return null
    await rememberOrigin(inner, user.id, origin, moment)
    audit(inner, { kind: 'user.login', actor: user, user, summary, ip })
    const secret = randomText(32)
    const row = { ...newSession(context, moment), way, hasSecondFactor, ...columns, hash: hmac(keys.session, secret), user: user.id }
    const session = inner.create(Session, row)
    await inner.flush()
    await also?.(inner, session)
    return { id: session.id, secret }
  })
  const counts = (state.signIns ??= new Map<CountedWay, number>())
  if (begun) counts.set(step ?? way, (counts.get(step ?? way) ?? 0) + 1)
  return begun
}

const newSession = ({ ip, request }: Context, started: Date) => ({
  createdAt: started,
  lastUsedAt: started,
  expiresAt: new Date(started.getTime() + sessionLifetimes.totalMs),
  clientIp: ip,
  userAgent: (request.headers['user-agent'] ?? '').slice(0, 256),
})

/** Sets the cookies of a new session, and the cookie by which later sign-ins recognize the device. */
export function sendSession(context: Context, { id, secret }: NewSession, origin: Origin): void {
  const { reply, keys, config } = context
  const values = { session: secret, csrf: csrfToken(keys, id), maxAge: sessionLifetimes.totalMs / 1000 }
  setSessionCookies(reply, config.SERVER_URL, values)
  sendDeviceCookie(context, origin)
}
