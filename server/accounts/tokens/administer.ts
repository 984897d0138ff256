import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { editable } from '../users/editable.ts'
import { AccessToken } from './entity.ts'
import { withDescendants, revokeTree } from './revoke.ts'

/**
 * Revokes a token of any user, and all tokens created with it, immediately and permanently; for administrators. Revoking it again has no effect.
 * @throws ApiError NotFound; InsufficientPermissions for tokens of the owner.
 */
export async function revokeUserToken({ em, viewer, ip, now }: SignedInContext, id: string): Promise<AccessToken> {
  const token = await em.transactional(async (inner) => {
    const token = await inner.findOne(AccessToken, { id })
    if (!token) throw notFound('There is no token with this id.')
    const user = await editable(inner, token.user.id)
    const revoked = await revokeTree(inner, id, now())
    const summary = `${viewer.displayName} revoked the token "${token.name}" of ${user.displayName}${withDescendants(revoked)}`
    if (revoked) audit(inner, { kind: 'token.revoked', actor: viewer, user, summary, ip })
    return token
  })
  return em.refreshOrFail(token)
}
