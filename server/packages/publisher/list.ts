import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../db/batched.ts'
import { inOrderOf, type PageArguments } from '../../graphql/connections.ts'
import type { Publisher } from '../../publishers/entity.ts'
import { countByPublisher } from '../../publishers/list.ts'
import { Package } from '../entity.ts'
import { listed } from '../policy.ts'

/** Packages of a publisher by name, as a connection; unlisted ones only for those who may see them. */
export const listPublisherPackages = (em: EntityManager, { id }: Publisher, seesUnlisted: boolean, page: PageArguments) =>
  inOrderOf(em, Package, 'name', { publisher: id, ...(!seesUnlisted && listed) }, page)

/** How many packages a publisher owns: all, or those that are in lists. */
export const countAllPackages = batched((em, ids) => countByPublisher(em, 'packages', ids))
export const countListedPackages = batched((em, ids) => countByPublisher(em, 'packages', ids, ' and is_unlisted = false'))
