import { createHash } from 'node:crypto'
import { LockMode, type Loaded } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context } from '../../platform/access/context.ts'
import type { Config } from '../../platform/config/config.ts'
import { equalSecrets, sha256 } from '../../platform/http/keys.ts'
import type { Scope } from '../../platform/access/roles.ts'
import { withDescendants, revokeTree } from '../tokens/revoke.ts'
import type { AccessToken } from '../tokens/entity.ts'
import { endOfToken, grantableScopes } from '../tokens/policy.ts'
import { issueToken } from '../tokens/service.ts'
import { User } from '../users/entity.ts'
import { AuthorizationRequest, DeviceRequest } from './entity.ts'
import { clientId, OauthError, optional, type Parameters, requiredParameter } from './parameters.ts'

/** The parameters of a token request. */
type Exchange = { code: string; redirectUri: string; codeVerifier: string }
type Grant = { secret: string; scopes: Scope[]; email: string }

/** Lifetime of tokens issued for a code, in days. TOKEN_MAX_DAYS can shorten it. */
const tokenDays = 90

type SpentRequest = Loaded<AuthorizationRequest, 'user' | 'token'>

/**
 * Exchanges a code for a token. The first attempt invalidates the code, successful or not, and whatever is missing. A later attempt also revokes the
 * token that was issued for it (RFC 6749 §4.1.2).
 * @throws OauthError invalid_grant, with the same message for every reason; other codes for a malformed request.
 */
export async function exchangeCode(context: Context, parameters: Parameters): Promise<Grant> {
  const { em, ip, now, config } = context
  const circumstances = { now: now(), ip, config }
  // A rejection must not throw inside the transaction, since the rollback would make the code valid again.
  const exchange = (given: Exchange) => em.transactional((inner) => spend(inner, given, circumstances))
  let given: Exchange
  try {
    given = readExchange(parameters)
  } catch (error) {
    for (const code of [parameters.code].flat().slice(0, maxCodes))
      if (typeof code === 'string') await exchange({ code, redirectUri: '', codeVerifier: '' })
    throw error
  }
  const grant = await exchange(given)
  if (!grant)
    throw new OauthError('invalid_grant', 'The code is unknown, expired or already used, or redirect_uri or code_verifier do not match it.')
  return grant
}

/** Maximum number of codes that a malformed request invalidates. */
const maxCodes = 4

function readExchange(parameters: Parameters): Exchange {
  if (requiredParameter(parameters, 'grant_type') !== 'authorization_code') {
    throw new OauthError('unsupported_grant_type', 'grant_type must be authorization_code or that of device codes.')
  }
  if ((optional(parameters, 'client_id') ?? clientId) !== clientId) throw new OauthError('invalid_client', 'client_id must be cli.')
  const [code, redirectUri] = [requiredParameter(parameters, 'code'), requiredParameter(parameters, 'redirect_uri')]
  return { code, redirectUri, codeVerifier: requiredParameter(parameters, 'code_verifier') }
}

type Circumstances = { now: Date; ip: string; config: Pick<Config, 'TOKEN_MAX_DAYS'> }

async function spend(em: EntityManager, given: Exchange, circumstances: Circumstances): Promise<Grant | null> {
  const { now, ip } = circumstances
  const codeHash = sha256(given.code)
  const mayAct = await lockGrantor(em, codeHash)
  // The update is atomic: of two concurrent exchanges, one changes the row, and the other waits and then finds it changed.
  const first = await em.nativeUpdate(AuthorizationRequest, { codeHash, exchangedAt: null }, { exchangedAt: now })
  const request = await em.findOne(AuthorizationRequest, { codeHash }, { populate: ['user', 'token'] })
  if (!request) return null
  if (!first) return revokeReplayed(em, request, now, ip)
  if (!mayAct || !fits(request, given, now)) return null
  return grantToken(em, request, request.user, circumstances)
}

/** Issues the token for an approved request, limited by the user's current role. */
function grantToken(
  em: EntityManager,
  request: AuthorizationRequest | DeviceRequest,
  owner: User,
  { now, ip, config }: Circumstances,
): Grant {
  const scopes = grantableScopes(request.scopes.split(',') as Scope[], owner.role)
  const expiresAt = endOfToken(now, Math.min(tokenDays, config.TOKEN_MAX_DAYS ?? tokenDays), config)
  const { token, secret } = issueToken(em, { owner, name: `CLI, ${now.toISOString().slice(0, 10)}`, scopes, createdAt: now, expiresAt, ip })
  request.token = token
  return { secret, scopes, email: owner.email }
}

/**
 * Locks the user who approved the code before the request itself, in the same order as disabling an account.
 * @returns whether the user can sign in and act.
 */
async function lockGrantor(em: EntityManager, codeHash: string): Promise<boolean> {
  const request = await em.findOne(AuthorizationRequest, { codeHash }, { fields: ['user'], disableIdentityMap: true })
  return request ? lockUser(em, request.user.id) : false
}

const lockUser = async (em: EntityManager, id: string): Promise<boolean> =>
  (await em.nativeUpdate(User, { id, isActive: true, mustChangePassword: false }, { isActive: true })) > 0

/** Checks the code's expiry, the redirect URI and the verifier. A code is invalid once the session that approved it has ended. */
function fits({ codeExpiresAt, redirectUri, codeChallenge, session }: SpentRequest, given: Exchange, now: Date): boolean {
  const alive = codeExpiresAt != null && codeExpiresAt > now && session != null
  const verified = isVerifier(given.codeVerifier) && equalSecrets(challengeOf(given.codeVerifier), codeChallenge)
  return alive && verified && given.redirectUri === redirectUri
}

/** Returns whether a verifier has 43 to 128 unreserved characters (RFC 7636 §4.1). */
const isVerifier = (text: string): boolean => /^[\w.~-]{43,128}$/.test(text)

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

type Replayed = { token?: AccessToken | null | undefined; user: { id: string; displayName: string } }

async function revokeReplayed(em: EntityManager, { token, user }: Replayed, now: Date, ip: string): Promise<null> {
  if (!token) return null
  const revoked = await revokeTree(em, token.id, now)
  const summary = `An authorization code of ${user.displayName} was used twice: the token "${token.name}" was revoked${withDescendants(revoked)}`
  if (revoked) audit(em, { kind: 'token.reuse_detected', actor: null, user, summary, ip })
  return null
}

/** The grant type of device codes (RFC 8628 §3.4). */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

type Answered = Loaded<DeviceRequest, 'user' | 'token'>
type Poll = Grant | 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | 'invalid_grant'

/**
 * Exchanges a device code for a token, once its user has approved the request. Like codes, it is valid once, and using it again revokes the token.
 * @throws OauthError of RFC 8628 §3.5: authorization_pending, slow_down, access_denied or expired_token; or of RFC 6749 §5.2.
 */
export async function exchangeDeviceCode(context: Context, parameters: Parameters): Promise<Grant> {
  const { em, ip, now, config } = context
  if (requiredParameter(parameters, 'client_id') !== clientId) throw new OauthError('invalid_client', 'client_id must be cli.')
  const deviceHash = sha256(requiredParameter(parameters, 'device_code'))
  const circumstances = { now: now(), ip, config }
  // A rejection must not throw inside the transaction, since the rollback would also undo what was recorded about the poll.
  const result = await em.transactional((inner) => poll(inner, deviceHash, circumstances))
  if (typeof result === 'object') return result
  throw new OauthError(result, reasons[result])
}

const reasons = {
  authorization_pending: 'The user has not answered yet. Poll again after the interval.',
  slow_down: 'The device polls too fast. Wait 5 seconds longer between polls from now on.',
  access_denied: 'The user denied the request.',
  expired_token: 'The device code has expired. Start again.',
  invalid_grant: 'The device code is unknown or already used, or the user cannot grant access any more.',
} as const

async function poll(em: EntityManager, deviceHash: string, circumstances: Circumstances): Promise<Poll> {
  const { now, ip } = circumstances
  const seen = await em.findOne(DeviceRequest, { deviceHash }, { fields: ['user'], disableIdentityMap: true })
  if (!seen) return 'invalid_grant'
  const mayAct = seen.user ? await lockUser(em, seen.user.id) : false
  const request = await em.findOne(DeviceRequest, { deviceHash }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!request) return 'invalid_grant'
  await em.populate(request, ['user', 'token'])
  const { user, answer, expiresAt } = request as Answered
  if (request.exchangedAt && user) return (await revokeReplayed(em, { token: request.token, user }, now, ip)) ?? 'invalid_grant'
  if (answer === 'denied') return 'access_denied'
  if (expiresAt <= now) return 'expired_token'
  // An answer that came after `seen` counts at the next poll, since its user must be locked first.
  if (!answer || !user || !seen.user) return wait(request, now)
  request.exchangedAt = now
  return mayAct && request.session ? grantToken(em, request, user, circumstances) : 'invalid_grant'
}

/** Records a poll of a request without an answer. A poll that comes too early makes the interval 5 seconds longer (RFC 8628 §3.5). */
function wait(request: DeviceRequest, now: Date): Poll {
  const { polledAt, pollSeconds } = request
  request.polledAt = now
  if (!polledAt || now.getTime() - polledAt.getTime() >= pollSeconds * 1000) return 'authorization_pending'
  request.pollSeconds = pollSeconds + 5
  return 'slow_down'
}
