import { createHash } from 'node:crypto'
import type { Loaded } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context } from '../../platform/access/context.ts'
import { equalSecrets, sha256 } from '../../platform/http/keys.ts'
import type { Scope } from '../../platform/access/roles.ts'
import { withDescendants, revokeTree } from '../tokens/revoke.ts'
import { grantableScopes } from '../tokens/policy.ts'
import { issueToken } from '../tokens/service.ts'
import { User } from '../users/entity.ts'
import { AuthorizationRequest } from './entity.ts'
import { clientId, OauthError, optional, type Parameters, requiredParameter } from './parameters.ts'

/** The parameters of a token request. */
type Exchange = { code: string; redirectUri: string; codeVerifier: string }
type Grant = { secret: string; scopes: Scope[]; email: string }

/** Lifetime of tokens issued for a code, in days. TOKEN_MAX_DAYS can shorten it. */
const tokenDays = 90
const dayMs = 86_400_000

type SpentRequest = Loaded<AuthorizationRequest, 'user' | 'token'>

/**
 * Exchanges a code for a token. The first attempt invalidates the code, successful or not, and whatever is missing. A later attempt also revokes the
 * token that was issued for it (RFC 6749 §4.1.2).
 * @throws OauthError invalid_grant, with the same message for every reason; other codes for a malformed request.
 */
export async function exchangeCode(context: Context, parameters: Parameters): Promise<Grant> {
  const { em, ip, now, config } = context
  const circumstances = { now: now(), ip, maxDays: config.TOKEN_MAX_DAYS }
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
    throw new OauthError('unsupported_grant_type', 'grant_type must be authorization_code.')
  }
  if ((optional(parameters, 'client_id') ?? clientId) !== clientId) throw new OauthError('invalid_client', 'client_id must be cli.')
  const [code, redirectUri] = [requiredParameter(parameters, 'code'), requiredParameter(parameters, 'redirect_uri')]
  return { code, redirectUri, codeVerifier: requiredParameter(parameters, 'code_verifier') }
}

type Circumstances = { now: Date; ip: string; maxDays: number | undefined }

async function spend(em: EntityManager, given: Exchange, { now, ip, maxDays }: Circumstances): Promise<Grant | null> {
  const codeHash = sha256(given.code)
  const mayAct = await lockGrantor(em, codeHash)
  // The update is atomic: of two concurrent exchanges, one changes the row, and the other waits and then finds it changed.
  const first = await em.nativeUpdate(AuthorizationRequest, { codeHash, exchangedAt: null }, { exchangedAt: now })
  const request = await em.findOne(AuthorizationRequest, { codeHash }, { populate: ['user', 'token'] })
  if (!request) return null
  if (!first) return revokeReplayed(em, request, now, ip)
  const scopes = grantableScopes(request.scopes.split(',') as Scope[], request.user.role)
  if (!mayAct || !fits(request, given, now)) return null
  const { token, secret } = issueToken(em, {
    owner: request.user,
    name: `CLI, ${now.toISOString().slice(0, 10)}`,
    scopes,
    createdAt: now,
    expiresAt: new Date(now.getTime() + Math.min(tokenDays, maxDays ?? tokenDays) * dayMs),
    ip,
  })
  request.token = token
  return { secret, scopes, email: request.user.email }
}

/**
 * Locks the user who approved the code before the request itself, in the same order as disabling an account.
 * @returns whether the user can sign in and act.
 */
async function lockGrantor(em: EntityManager, codeHash: string): Promise<boolean> {
  const request = await em.findOne(AuthorizationRequest, { codeHash }, { fields: ['user'], disableIdentityMap: true })
  if (!request) return false
  return (await em.nativeUpdate(User, { id: request.user.id, isActive: true, mustChangePassword: false }, { isActive: true })) > 0
}

/** Checks the code's expiry, the redirect URI and the verifier. A code is invalid once the session that approved it has ended. */
function fits({ codeExpiresAt, redirectUri, codeChallenge, session }: SpentRequest, given: Exchange, now: Date): boolean {
  const alive = codeExpiresAt != null && codeExpiresAt > now && session != null
  const verified = isVerifier(given.codeVerifier) && equalSecrets(challengeOf(given.codeVerifier), codeChallenge)
  return alive && verified && given.redirectUri === redirectUri
}

/** Returns whether a verifier has 43 to 128 unreserved characters (RFC 7636 §4.1). */
const isVerifier = (text: string): boolean => /^[\w.~-]{43,128}$/.test(text)

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

async function revokeReplayed(em: EntityManager, { token, user }: SpentRequest, now: Date, ip: string): Promise<null> {
  if (!token) return null
  const revoked = await revokeTree(em, token.id, now)
  const summary = `An authorization code of ${user.displayName} was used twice: the token "${token.name}" was revoked${withDescendants(revoked)}`
  if (revoked) audit(em, { kind: 'token.reuse_detected', actor: null, user, summary, ip })
  return null
}
