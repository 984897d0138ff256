import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../access/context.ts'
import { insufficientPermissions, notFound } from '../errors.ts'
import { adviceForAdmin } from '../roles/viewer.ts'
import { Publisher } from './entity.ts'
import type { PublisherRule } from './policy.ts'

/**
 * Changes a publisher or its members in one transaction, under its lock, so that two changes never judge by the same state. `can`: the rule of
 * who may.
 * @throws ApiError NotFound; InsufficientPermissions; whatever `change` throws, and then nothing is changed.
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
 * The publisher, which nobody else changes or deletes until the transaction of `em` ends.
 * @throws ApiError NotFound.
 */
export async function lockPublisher(em: EntityManager, id: string): Promise<Publisher> {
  const publisher = await lockWhileThere(em, id)
  if (!publisher) throw unknownPublisher(id)
  return publisher
}

/** The same, or null when it is not there. */
export const lockWhileThere = (em: EntityManager, id: string): Promise<Publisher | null> =>
  em.findOne(Publisher, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })

/** 404 for a publisher that is not there. */
export const unknownPublisher = (id: string) => notFound(`There is no publisher ${id} on this server.`)
