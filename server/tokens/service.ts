import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../context.ts'
import { invalidInput, notFound } from '../errors.ts'
import { sha256 } from '../http/keys.ts'
import { User } from '../users/entity.ts'
import { allowedScopes, includedScopes } from '../users/policy.ts'
import { AccessToken, type Scope, scopes } from './entity.ts'
import { newSecret } from './secret.ts'

export type TokenInput = { name: string; scopes?: readonly Scope[] | null | undefined; expiresInDays?: number | null | undefined }
export type IssuedToken = { token: AccessToken; secret: string }

const dayMs = 86_400_000

/**
 * Makes a personal access token. Its scopes are clamped to the caller's role; a token that makes a token gives
 * neither scopes nor a life longer than its own (decisions §4). The secret is returned this once.
 * @throws ApiError InvalidInput when no scope is left.
 */
export async function createToken({ em, viewer, credential, ip, now }: SignedInContext, input: TokenInput): Promise<IssuedToken> {
  const granted = clampScopes(
    input.scopes ?? ['read', 'write'],
    credential.kind === 'token' ? includedScopes(credential.scopes) : scopes,
    allowedScopes(viewer.role),
  )
  if (granted.length === 0)
    throw invalidInput(
      `scopes: your role (${viewer.role}) allows none of these. It may hold: ${allowedScopes(viewer.role).join(', ')}.`,
      'scopes',
    )
  const createdAt = now()
  const wanted = input.expiresInDays ? new Date(createdAt.getTime() + input.expiresInDays * dayMs) : null
  const limit = credential.kind === 'token' ? credential.expiresAt : null
  const issued = issueToken(em, { owner: viewer, name: input.name, scopes: granted, createdAt, expiresAt: earlier(wanted, limit), ip })
  await em.flush()
  return issued
}

type TokenIssue = {
  owner: { id: string; displayName: string }
  name: string
  scopes: readonly Scope[]
  createdAt: Date
  expiresAt: Date | null
  ip: string
}

/** Adds a token with exactly these scopes, and its audit entry, to the unit of work: the caller clamps first, and flushes. */
export function issueToken(em: EntityManager, { owner, name, scopes: granted, createdAt, expiresAt, ip }: TokenIssue): IssuedToken {
  const secret = newSecret()
  const token = em.create(AccessToken, {
    user: em.getReference(User, owner.id),
    name,
    hash: sha256(secret),
    prefix: secret.slice(0, 12),
    scopes: granted.join(','),
    createdAt,
    expiresAt,
  })
  audit(em, {
    kind: 'token.created',
    actor: owner,
    user: owner,
    summary: `${owner.displayName} made the token "${name}" (${granted.join(', ')})`,
    ip,
  })
  return { token, secret }
}

/**
 * Revokes one of the caller's own tokens; from the next request on it is worthless. Revoking it again changes nothing.
 * @throws ApiError NotFound when it is not theirs.
 */
export async function revokeToken({ em, viewer, ip, now }: SignedInContext, id: string): Promise<AccessToken> {
  const token = await em.findOne(AccessToken, { id, user: viewer.id })
  if (!token) throw notFound('You have no token with this id.')
  if (token.revokedAt) return token
  token.revokedAt = now()
  audit(em, { kind: 'token.revoked', actor: viewer, user: viewer, summary: `${viewer.displayName} revoked the token "${token.name}"`, ip })
  await em.flush()
  return token
}

/** What is left of the wanted scopes, in order of strength. */
export function clampScopes(wanted: readonly Scope[], ...bounds: (readonly Scope[])[]): Scope[] {
  return scopes.filter((scope) => wanted.includes(scope) && bounds.every((bound) => bound.includes(scope)))
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (!one || !other) return one ?? other
  return one < other ? one : other
}
