import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../access/context.ts'
import { insufficientPermissions, notFound } from '../errors.ts'
import { type Actor, adviceForAdmin } from '../roles/viewer.ts'
import { Publisher } from './entity.ts'
import { canAdministerPublisher } from './policy.ts'

type Rule = (em: EntityManager, actor: Actor, publisher: Publisher) => Promise<boolean>

/**
 * Changes a publisher or its members in one transaction, under its lock, so that two changes never judge by the same state.
 * `may`: who is allowed; whoever administers the publisher, unless said otherwise.
 * @throws ApiError NotFound; InsufficientPermissions; whatever `change` throws, and then nothing is changed.
 */
export function changePublisher<Result>(
  context: SignedInContext,
  id: string,
  change: (em: EntityManager, publisher: Publisher) => Promise<Result>,
  may: Rule = canAdministerPublisher,
): Promise<Result> {
  return context.em.fork().transactional(async (inner) => {
    const publisher = await lockPublisher(inner, id)
    if (!(await may(inner, context, publisher)))
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
