import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { insufficientPermissions, notFound } from '../../errors.ts'
import { adviceForAdmin } from '../../platform/access/roles.ts'
import { Publisher } from './entity.ts'
import type { PublisherRule } from './policy.ts'

/**
 * Changes a publisher or its members in one transaction while holding the publisher's row lock, so that concurrent changes are serialized. `can` is
 * the permission check.
 * @throws ApiError NotFound; InsufficientPermissions; any error thrown by `change`, after a rollback.
 */
export function changePublisher<Result>(
  context: SignedInContext,
  id: string,
  can: PublisherRule,
  change: (em: EntityManager, publisher: Publisher) => Promise<Result>,
): Promise<Result> {
  return context.em.fork().transactional(async (inner) => {
    const publisher = await lockPublisher(inner, id)
    if (!(await can(inner, context, publisher)))
      throw insufficientPermissions(`You do not administer the publisher ${id}. Ask one of its admins.${adviceForAdmin(context)}`)
    return change(inner, publisher)
  })
}

/**
 * Returns the publisher, locked against changes and deletion until the transaction of `em` ends.
 * @throws ApiError NotFound.
 */
export async function lockPublisher(em: EntityManager, id: string): Promise<Publisher> {
  const publisher = await findAndLockPublisher(em, id)
  if (!publisher) throw unknownPublisher(id)
  return publisher
}

/** Returns the locked publisher like `lockPublisher`, or null if it does not exist. */
export const findAndLockPublisher = (em: EntityManager, id: string): Promise<Publisher | null> =>
  em.findOne(Publisher, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })

/** Returns a 404 error for a publisher that does not exist. */
export const unknownPublisher = (id: string) => notFound(`There is no publisher ${id} on this server.`)
