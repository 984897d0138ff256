import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../access/context.ts'
import { invalidInput } from '../errors.ts'
import { nobody } from '../access/refusal.ts'
import { sha256 } from '../http/keys.ts'
import { requireRecentProof } from '../access/proof.ts'
import { User } from '../users/entity.ts'
import type { Scope } from '../roles/roles.ts'
import { AccessToken } from './entity.ts'
import { endOfToken, grantableScopes, needsProof } from './policy.ts'
import { newSecret, shownOf } from '../access/token-secret.ts'

export type TokenInput = { name: string; scopes?: readonly Scope[] | null | undefined; expiresInDays?: number | null | undefined }
export type IssuedToken = { token: AccessToken; secret: string }

/**
 * Creates a personal access token. Scopes are limited to the caller's role. A token that creates a token gives neither scopes nor a life longer
 * than its own, and revoking it revokes what it created. The secret is returned only here.
 * @throws ApiError InsufficientPermissions for the scope admin when the session has no recent proof of the password; InvalidInput for an empty
 *   list of scopes, or for a life longer than the server allows; MissingAuthentication when the creating token was revoked at the same time.
 */
export async function createToken(context: SignedInContext, input: TokenInput): Promise<IssuedToken> {
  const { em, viewer, credential, config, ip, now } = context
  const granted = grantableScopes(input.scopes ?? ['read', 'write'], viewer.role, credential)
  if (granted.length === 0) throw invalidInput('scopes: name at least one of read, write, admin.', 'scopes')
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
