import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../accounts/audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { conflict, notFound } from '../../errors.ts'
import { User } from '../../accounts/users/entity.ts'
import { markApproved } from './confusable.ts'
import { ReservedName } from './entity.ts'
import { skeletonOf } from './skeleton.ts'

/** Reserves the name of a package that is being deleted, in the transaction of `em`. */
export async function reserveName(
  em: EntityManager,
  { viewer, now }: Pick<SignedInContext, 'viewer' | 'now'>,
  name: string,
): Promise<void> {
  await em.upsert(ReservedName, { name, skeleton: skeletonOf(name), reservedAt: now(), reservedBy: em.getReference(User, viewer.id) })
}

/**
 * Throws if the name is reserved.
 * @throws ApiError Conflict.
 */
export async function rejectReserved(em: EntityManager, name: string): Promise<void> {
  if (await em.count(ReservedName, { name }))
    throw conflict(
      `The name ${name} is reserved: a package of this name was deleted. Ask an administrator of this server to free the name.`,
    )
}

/**
 * Frees the name of a deleted package, so that it can be used again, and approves it even if it is confusable. Numbers of deleted versions remain
 * unusable. Requires a server admin.
 * @throws ApiError NotFound if the name is not reserved.
 */
export function freeName({ em, viewer, ip, now }: SignedInContext, name: string): Promise<void> {
  return em.fork().transactional(async (inner) => {
    if (!(await inner.nativeDelete(ReservedName, { name }))) throw notFound(`The name ${name} is not reserved.`)
    await markApproved(inner, { viewer, now }, name)
    const summary = `${viewer.displayName} freed the name ${name}`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, package: name, ip })
  })
}
