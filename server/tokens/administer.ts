import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../context.ts'
import { notFound } from '../errors.ts'
import { editable } from '../users/editable.ts'
import { AccessToken } from './entity.ts'

/**
 * Revokes a token of somebody at once and for good, for an administrator. Revoking it again changes nothing.
 * @throws ApiError NotFound, InsufficientPermissions for the owner's.
 */
export async function revokeUserToken({ em, viewer, ip, now }: SignedInContext, id: string): Promise<AccessToken> {
  return em.transactional(async (inner) => {
    const token = await inner.findOne(AccessToken, { id })
    if (!token) throw notFound('There is no token with this id.')
    const user = await editable(inner, token.user.id)
    if (token.revokedAt) return token
    token.revokedAt = now()
    const summary = `${viewer.displayName} revoked the token "${token.name}" of ${user.displayName}`
    audit(inner, { kind: 'token.revoked', actor: viewer, user, summary, ip })
    return token
  })
}
