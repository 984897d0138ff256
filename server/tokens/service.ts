import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../access/context.ts'
import { type ApiError, invalidInput } from '../errors.ts'
import { nobody } from '../access/refusal.ts'
import { sha256 } from '../http/keys.ts'
import { requireRecentProof } from '../access/proof.ts'
import { User } from '../users/entity.ts'
import { allowedScopes, type Role, type Scope, scopes } from '../roles/roles.ts'
import type { Credential } from '../roles/viewer.ts'
import { AccessToken } from './entity.ts'
import { endOfToken, grantableScopes, needsProof } from './policy.ts'
import { newSecret, shownOf } from '../access/token-secret.ts'

export type TokenInput = { name: string; scopes?: readonly Scope[] | null | undefined; expiresInDays?: number | null | undefined }
export type IssuedToken = { token: AccessToken; secret: string }

/**
 * Makes a personal access token. Its scopes are clamped to the caller's role; a token that makes a token gives neither scopes nor a life longer
 * than its own, and takes what it made along when it is revoked. The secret is returned this once.
 * @throws ApiError InsufficientPermissions for the scope admin, when a session did not prove its password lately; InvalidInput when no scope is left, or for a life longer than the server allows; MissingAuthentication when the token that
 *   makes it was revoked at the same time.
 */
export async function createToken(context: SignedInContext, input: TokenInput): Promise<IssuedToken> {
  const { em, viewer, credential, config, ip, now } = context
  const granted = grantableScopes(input.scopes ?? ['read', 'write'], viewer.role, credential)
  if (granted.length === 0) throw noScopesLeft(input.scopes ?? [], viewer.role, credential)
  if (needsProof(granted)) requireRecentProof(context)
  const createdAt = now()
  const expiresAt = endOfToken(createdAt, input.expiresInDays, config, credential)
  const issue = { owner: viewer, name: input.name, scopes: granted, createdAt, expiresAt, ip }
  return em.transactional(async (inner) => {
    // The person first, then the token, as whoever deletes the person locks them.
    const owner = await inner.findOne(User, { id: viewer.id, isActive: true }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (!owner) throw nobody(context)
    const madeWith = credential.kind === 'token' ? await lockLive(inner, context, credential.id) : null
    return issueToken(inner, { ...issue, madeWith })
  })
}

function noScopesLeft(wanted: readonly Scope[], role: Role, credential: Credential): ApiError {
  if (wanted.length === 0) return invalidInput('scopes: name at least one.', 'scopes')
  const [what, may] =
    grantableScopes(wanted, role).length > 0
      ? ['the token that makes this one', grantableScopes(scopes, role, credential)]
      : [`your role (${role})`, allowedScopes(role)]
  return invalidInput(`scopes: ${what} allows none of these. It may hold: ${may.join(', ')}.`, 'scopes')
}

/** The token itself, which nobody revokes until the transaction of `em` ends. */
async function lockLive(em: EntityManager, context: SignedInContext, id: string): Promise<AccessToken> {
  const token = await em.findOne(AccessToken, { id, revokedAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
  if (!token) throw nobody(context)
  return token
}

type TokenIssue = {
  owner: { id: string; displayName: string }
  name: string
  scopes: readonly Scope[]
  createdAt: Date
  expiresAt: Date | null
  ip: string
  /** The token that makes it, if it is one. */
  madeWith?: AccessToken | null
}

/** Adds a token with exactly these scopes, and its audit entry, to the unit of work: the caller clamps first, and flushes. */
export function issueToken(
  em: EntityManager,
  { owner, name, scopes: granted, createdAt, expiresAt, ip, madeWith }: TokenIssue,
): IssuedToken {
  const secret = newSecret()
  const token = em.create(AccessToken, {
    user: em.getReference(User, owner.id),
    name,
    hash: sha256(secret),
    prefix: shownOf(secret),
    scopes: granted.join(','),
    createdAt,
    expiresAt,
    madeWith: madeWith ?? null,
  })
  audit(em, {
    kind: 'token.created',
    actor: owner,
    user: owner,
    summary: `${owner.displayName} created the token "${name}" (${granted.join(', ')})`,
    ip,
  })
  return { token, secret }
}
