import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../../platform/db/batched.ts'
import { inOrderOf, type PageArguments } from '../../../platform/graphql/connections.ts'
import type { Publisher } from '../../publishers/entity.ts'
import { countByPublisher } from '../../publishers/list.ts'
import { Package } from '../entity.ts'
import { listed } from '../policy.ts'

/** Returns a publisher's packages ordered by name, as a connection. Unlisted packages are included only if `seesUnlisted`. */
export const listPublisherPackages = (em: EntityManager, { id }: Publisher, seesUnlisted: boolean, page: PageArguments) =>
  inOrderOf(em, Package, 'name', { publisher: id, ...(!seesUnlisted && listed) }, page)

/** Loads the number of packages that a publisher owns, by its id: all of them, or only listed ones. */
export const countAllPackages = batched((em, ids) => countByPublisher(em, 'packages', ids))
export const countListedPackages = batched((em, ids) => countByPublisher(em, 'packages', ids, ' and is_unlisted = false'))
