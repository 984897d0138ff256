import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../access/context.ts'
import { conflict, notFound } from '../errors.ts'
import { requireRecentProof } from '../access/proof.ts'
import { User } from '../users/entity.ts'
import { emailKey } from '../users/input.ts'
import { limitLookups } from '../users/lookups.ts'
import { canBecomeOwner } from '../users/policy.ts'

export type Transfer = { owner: User; previousOwner: User }

/**
 * Makes an active administrator the owner; the owner so far becomes an administrator, in one step.
 * @throws ApiError NotFound for an unknown address, Conflict when the person is not an active administrator or the caller owns no more; RateLimitExceeded; InsufficientPermissions for
 *   a session that did not prove its password lately.
 */
export async function transferOwnership(context: SignedInContext, email: string): Promise<Transfer> {
  requireRecentProof(context)
  return limitLookups(context, () => transfer(context, email))
}

async function transfer({ em, viewer, ip }: SignedInContext, email: string): Promise<Transfer> {
  const target = await em.findOne(User, { emailKey: emailKey(email) }, { populate: ['passwordHash'] })
  if (!target) throw notFound('There is no user with this e-mail address.')
  if (target.id === viewer.id) throw conflict('You already own this server. Name another administrator.')
  if (!canBecomeOwner(target)) throw conflict(`${target.displayName} must be an active administrator first.`)
  try {
    await em.transactional(async (inner) => {
      // Both conditions are in the statements: of two transfers at once, or a transfer and a demotion, one fails whole.
      const left = await inner.nativeUpdate(User, { id: viewer.id, role: 'owner' }, { role: 'admin' })
      const taken = left && (await inner.nativeUpdate(User, { id: target.id, role: 'admin', isActive: true }, { role: 'owner' }))
      if (!taken) throw justChanged()
      audit(inner, {
        kind: 'owner.transferred',
        actor: viewer,
        user: target,
        summary: `${viewer.displayName} made ${target.displayName} the owner`,
        ip,
      })
    })
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw justChanged()
    throw error
  }
  const [owner, previousOwner] = await Promise.all(
    [target.id, viewer.id].map((id) => em.findOneOrFail(User, id, { populate: ['passwordHash'], refresh: true })),
  )
  return { owner: owner as User, previousOwner: previousOwner as User }
}

const justChanged = () => conflict('The roles were changed a moment ago. Reload, then try again.')
