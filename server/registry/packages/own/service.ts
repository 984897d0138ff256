import { raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { inOrderOf, type PageArguments } from '../../../platform/graphql/connections.ts'
import { Package } from '../entity.ts'
import { isPublishedBy } from '../policy.ts'

/** Returns the packages that a user can publish to, as an uploader or as a member of the owning publisher, ordered by name, as a connection. */
export const listOwnPackages = (em: EntityManager, userId: string, page: PageArguments) =>
  inOrderOf(em, Package, 'name', { [raw((alias) => isPublishedBy(alias), [userId, userId])]: [] }, page)
