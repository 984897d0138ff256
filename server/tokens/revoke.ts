import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../access/context.ts'
import { notFound } from '../errors.ts'
import { sha256 } from '../http/keys.ts'
import { AccessToken } from './entity.ts'
import { isSecret } from '../access/token-secret.ts'

/**
 * Revokes a token and every token that was made with it, or with one of those, in the transaction of `em`. Each generation is locked by its
 * own update before the next one is looked for, so a token that is being made meanwhile either is found here or is never made.
 * @returns how many tokens stopped working; 0 when they all had before.
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

/** The end of a sentence that tells of a revocation: what went with the token itself. */
export const alongWith = (revoked: number): string =>
  revoked > 1 ? `, and with it ${revoked - 1} ${revoked === 2 ? 'token that was' : 'tokens that were'} made with it` : ''

/**
 * Revokes one of the caller's own tokens and what was made with it; from the next request on they are worthless. Revoking it again changes
 * nothing.
 * @throws ApiError NotFound when it is not theirs.
 */
export async function revokeToken({ em, viewer, ip, now }: SignedInContext, id: string): Promise<AccessToken> {
  const token = await em.transactional(async (inner) => {
    const own = await inner.findOne(AccessToken, { id, user: viewer.id })
    if (!own) throw notFound('You have no token with this id.')
    const revoked = await revokeTree(inner, id, now())
    const summary = `${viewer.displayName} revoked the token "${own.name}"${alongWith(revoked)}`
    if (revoked) audit(inner, { kind: 'token.revoked', actor: viewer, user: viewer, summary, ip })
    return own
  })
  return em.refreshOrFail(token)
}

/**
 * Revokes the token with this secret, whoever shows it: who found one may end it, and needs no account for that. Nobody learns whether there
 * was one. What does not even have the checksum of a secret never reaches the database.
 */
export async function revokeBySecret({ em, ip, now }: Context, secret: string): Promise<void> {
  if (!isSecret(secret)) return
  await em.transactional(async (inner) => {
    const token = await inner.findOne(AccessToken, { hash: sha256(secret), revokedAt: null }, { populate: ['user'] })
    const revoked = token ? await revokeTree(inner, token.id, now()) : 0
    if (!token || !revoked) return
    const { user, name } = token
    const summary = `Someone who had the secret of the token "${name}" of ${user.displayName} revoked it${alongWith(revoked)}`
    audit(inner, { kind: 'token.revoked', actor: null, user, summary, ip })
  })
}
