import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { conflict, notFound } from '../../errors.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { User } from '../users/entity.ts'
import { emailKey } from '../users/input.ts'
import { limitLookups } from '../users/lookups.ts'
import { canBecomeOwner } from '../users/policy.ts'

export type Transfer = { owner: User; previousOwner: User }

/**
 * Transfers the ownership to an active administrator. The previous owner becomes an administrator in the same transaction.
 * @throws ApiError NotFound for an unknown address; Conflict when the user is not an active administrator or the caller is no longer the owner;
 * RateLimitExceeded; InsufficientPermissions for a session without a recent password confirmation.
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
      // Each update repeats its condition. Of two concurrent transfers, or a transfer and a demotion, one is rolled back.
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

const justChanged = () => conflict('The roles were changed at the same time. Reload, then try again.')
