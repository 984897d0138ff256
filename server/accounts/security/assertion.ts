import type { Loaded } from '@mikro-orm/core'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { missingAuthentication } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import type { Viewer } from '../../platform/access/roles.ts'
import { clearCookie, readCookie, setCookie } from '../../platform/http/cookies.ts'
import { addressKey } from '../../platform/http/limits.ts'
import { randomText, sha256 } from '../../platform/http/keys.ts'
import { audit } from '../audit/service.ts'
import { LinkedIdentity } from '../providers/entity.ts'
import { originOf } from '../sessions/origin.ts'
import { countSignInFailure, sendSession, startSession } from '../sessions/start.ts'
import { User } from '../users/entity.ts'
import { isIdleUser, reloadUser } from '../users/service.ts'
import {
  assertionShape,
  challengeBytes,
  issueChallenge,
  redeemChallenge,
  relyingParty,
  requireRelyingParty,
  webauthn,
} from '../factors/challenges.ts'
import { type ChallengePurpose, Passkey } from '../factors/entity.ts'

const cookieSeconds = 5 * 60

/** Returns the options with which a browser signs in with a passkey. A cookie binds the challenge to the browser. */
export async function startSignIn(context: Context): Promise<object> {
  const { request, reply, config } = context
  const { id: rpID } = requireRelyingParty(config)
  const known = readCookie(request, 'passkey', config.SERVER_URL)
  // Several pages of a browser share the cookie.
  const secret = known !== undefined && /^[\w-]{43}$/.test(known) ? known : randomText(32)
  setCookie(reply, 'passkey', config.SERVER_URL, secret, cookieSeconds)
  const challenge = challengeBytes(await issueChallenge(context, 'sign_in', sha256(secret)))
  return (await webauthn()).generateAuthenticationOptions({ rpID, challenge, userVerification: 'required', timeout: 300_000 })
}

/**
 * Signs in with a passkey and sets the session cookies.
 * @throws ApiError MissingAuthentication, with the same message for every reason except that the account must sign in through its provider first.
 */
export async function signInWithPasskey(context: Context, given: unknown): Promise<Viewer> {
  const { request, reply, config, em } = context
  const secret = readCookie(request, 'passkey', config.SERVER_URL)
  const passkey = secret ? await acceptAssertion(context, { purpose: 'sign_in', holder: sha256(secret) }, given) : null
  if (!passkey) return rejectPasskey(context)
  const { user, name } = passkey
  await rejectIdle(context, user)
  const origin = await originOf(context, user.id)
  const summary = `${user.displayName} signed in with the passkey "${name}"`
  const session = await startSession(context, user, {
    way: 'passkey',
    origin,
    hasSecondFactor: true,
    summary,
    also: async (inner) => {
      // It may have been removed or disabled since it was verified.
      if (!(await inner.count(Passkey, { id: passkey.id, disabledAt: null }))) throw notAccepted()
    },
  })
  if (!session) return rejectPasskey(context, user)
  clearCookie(reply, 'passkey', config.SERVER_URL)
  sendSession(context, session, origin)
  await context.limits.refund('login', addressKey(context.ip))
  return reloadUser(em, user.id)
}

/** Rejects a user who must sign in through the provider first: a session would be paused from its start. */
async function rejectIdle(context: Context, { id, providerSignInAt }: User): Promise<void> {
  const { em, config } = context
  if (!providerSignInAt) return
  const account = await em.findOneOrFail(User, id, { populate: ['passwordHash'], refresh: true })
  if (!isIdleUser(account, context)) return
  countSignInFailure(context, 'idle')
  const issuers = (await em.find(LinkedIdentity, { user: id })).map(({ issuer }) => new URL(issuer).host)
  throw missingAuthentication(
    `You have not signed in through ${issuers.join(' or ')} for ${config.OIDC_MAX_IDLE_DAYS} days. Sign in there first, then the passkey works again.`,
  )
}

async function rejectPasskey(context: Context, user?: User): Promise<never> {
  const { em, ip } = context
  countSignInFailure(context, 'wrong_passkey')
  const summary = 'Someone tried to sign in with a passkey that was not accepted'
  audit(em, { kind: 'user.login_failed', actor: null, ...(user && { user }), summary, ip })
  await em.flush()
  throw notAccepted()
}

const notAccepted = () => missingAuthentication('The passkey was not accepted. Try again, or sign in another way.')

type Expected = { purpose: ChallengePurpose; holder: string; userId?: string }

/**
 * Verifies what a passkey signed, and records the use. Returns null for every kind of failure: another challenge, browser, origin, domain or user, no
 * user verification, a wrong signature, or a disabled passkey or account. A passkey whose counter went back was copied: it is disabled.
 */
export async function acceptAssertion(context: Context, expected: Expected, given: unknown): Promise<Loaded<Passkey, 'user'> | null> {
  const { em, config } = context
  const party = relyingParty(config)
  const response = assertionShape.safeParse(given).data as AuthenticationResponseJSON | undefined
  const challenge = response && (await redeemChallenge(context, expected.purpose, expected.holder, response))
  if (!party || !response || !challenge) return null
  const account = { isActive: true, kind: 'person', ...(expected.userId !== undefined && { id: expected.userId }) } as const
  const where = { credentialId: response.id, rpId: party.id, disabledAt: null, user: account }
  const passkey = await em.findOne(Passkey, where, { populate: ['user'], refresh: true })
  if (!passkey || !isHandleOf(response, passkey, expected)) return null
  const used = await verify(passkey, { response, challenge, ...party })
  if (!used) return null
  return (await recordUse(context, passkey, used)) ? passkey : null
}

/** Whether the response names the user of the passkey. It must do so for a sign-in, where the browser was given no list of passkeys. */
function isHandleOf({ response }: AuthenticationResponseJSON, { user }: Passkey, { purpose }: Expected): boolean {
  if (response.userHandle === undefined) return purpose !== 'sign_in'
  return response.userHandle === Buffer.from(user.id).toString('base64url')
}

type Signed = { response: AuthenticationResponseJSON; challenge: string; id: string; origin: string }
type Use = { counter: number; isBackedUp: boolean }

async function verify({ credentialId, publicKey }: Passkey, { response, challenge, id, origin }: Signed): Promise<Use | null> {
  // The counter is compared later, so that only a valid signature can disable a passkey.
  const credential = { id: credentialId, publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')), counter: 0 }
  const expected = { expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id, requireUserVerification: true }
  const { verifyAuthenticationResponse } = await webauthn()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({ response, credential, ...expected })
    return verified ? { counter: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp } : null
  } catch {
    // The library throws an Error for each reason.
    return null
  }
}

/** Stores the counter of a use. Returns false if it went back, after disabling the passkey. */
async function recordUse({ em, ip, now }: Context, passkey: Loaded<Passkey, 'user'>, { counter, isBackedUp }: Use): Promise<boolean> {
  const { id, user, name } = passkey
  return em.transactional(async (inner) => {
    // Authenticators that do not count always report 0.
    const goesForward = counter === 0 ? { counter: 0 } : { counter: { $lt: counter } }
    const use = { counter, isBackedUp, lastUsedAt: now() }
    if (await inner.nativeUpdate(Passkey, { id, disabledAt: null, ...goesForward }, use)) return true
    const disabled = await inner.nativeUpdate(Passkey, { id, disabledAt: null }, { disabledAt: now() })
    const summary = `The passkey "${name}" of ${user.displayName} was disabled: its counter went back, so it was probably copied`
    if (disabled) audit(inner, { kind: 'passkey.disabled', actor: null, user, summary, ip })
    return false
  })
}
