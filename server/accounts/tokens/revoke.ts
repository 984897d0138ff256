import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { sha256 } from '../../platform/http/keys.ts'
import { AccessToken } from './entity.ts'
import { isSecret } from '../../platform/access/token-secret.ts'
import type { User } from '../users/entity.ts'
import { editable } from '../users/service.ts'

/**
 * Revokes a token and, recursively, all tokens created with it, in the transaction of `em`. Each generation is locked by its update before the next
 * one is queried. A token that is created concurrently is therefore either found here or not created at all.
 * @returns the number of newly revoked tokens.
 */
export async function revokeTree(em: EntityManager, id: string, now: Date): Promise<number> {
  let revoked = 0
  for (let generation = [id]; generation.length > 0;) {
    revoked += await em.nativeUpdate(AccessToken, { id: { $in: generation }, revokedAt: null }, { revokedAt: now })
    const children = await em.find(AccessToken, { madeWith: { $in: generation } }, { fields: ['id'] })
    generation = children.map((child) => child.id)
  }
  return revoked
}

/** Returns the end of a sentence about a revocation: how many tokens were revoked along with the token itself. */
export const withDescendants = (revoked: number): string =>
  revoked > 1 ? `, along with ${revoked - 1} ${revoked === 2 ? 'token that was' : 'tokens that were'} created with it` : ''

/**
 * Revokes one of the caller's own tokens and all tokens created with it, effective from the next request. Revoking it again has no effect.
 * @throws ApiError NotFound when the token belongs to another user.
 */
export async function revokeToken({ em, viewer, ip, now }: SignedInContext, id: string): Promise<AccessToken> {
  const token = await em.transactional(async (inner) => {
    const own = await inner.findOne(AccessToken, { id, user: viewer.id })
    if (!own) throw notFound('You have no token with this id.')
    const revoked = await revokeTree(inner, id, now())
    const summary = `${viewer.displayName} revoked the token "${own.name}"${withDescendants(revoked)}`
    if (revoked) audit(inner, { kind: 'token.revoked', actor: viewer, user: viewer, summary, ip })
    return own
  })
  return em.refreshOrFail(token)
}

/**
 * Revokes the token with this secret, or with this previous secret that still works. Anyone who found the secret may do this without an account. The response does not reveal whether the token
 * exists. Strings without the checksum of a secret are rejected without a database query.
 */
export async function revokeBySecret({ em, ip, now }: Context, secret: string): Promise<void> {
  if (!isSecret(secret)) return
  await em.transactional(async (inner) => {
    const hash = sha256(secret)
    const isSecretOf = { $or: [{ hash }, { previousHash: hash, previousExpiresAt: { $gt: now() } }] }
    const token = await inner.findOne(AccessToken, { ...isSecretOf, revokedAt: null }, { populate: ['user'] })
    const revoked = token ? await revokeTree(inner, token.id, now()) : 0
    if (!token || !revoked) return
    const { user, name } = token
    const summary = `Someone who had the secret of the token "${name}" of ${user.displayName} revoked it${withDescendants(revoked)}`
    audit(inner, { kind: 'token.revoked', actor: null, user, summary, ip })
  })
}

/**
 * Revokes a token of any user, and all tokens created with it, immediately and permanently; for administrators. Revoking it again has no effect.
 * @throws ApiError NotFound; InsufficientPermissions for tokens of the owner.
 */
export const revokeUserToken = (context: SignedInContext, id: string): Promise<AccessToken> =>
  revokeTokenOf(context, id, async (em, { id: userId }) => void (await editable(em, userId)))

/** Checks whether the caller may revoke tokens of this user. @returns the publisher to name in the audit log. @throws ApiError if not. */
type RevocationCheck = (em: EntityManager, user: User) => Promise<string | undefined>

/** Revokes a token of another account, like `revokeUserToken`, if `check` allows it. */
export async function revokeTokenOf(context: SignedInContext, id: string, check: RevocationCheck): Promise<AccessToken> {
  const { em, viewer, ip, now } = context
  const token = await em.transactional(async (inner) => {
    const token = await inner.findOne(AccessToken, { id }, { populate: ['user'] })
    if (!token) throw notFound('There is no token with this id.')
    const { user } = token
    const publisher = await check(inner, user)
    const revoked = await revokeTree(inner, id, now())
    const summary = `${viewer.displayName} revoked the token "${token.name}" of ${user.displayName}${withDescendants(revoked)}`
    if (revoked) audit(inner, { kind: 'token.revoked', actor: viewer, user, summary, ip, ...(publisher !== undefined && { publisher }) })
    return token
  })
  return em.refreshOrFail(token)
}
