import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../../db/batched.ts'
import { anyText, pageByKey } from '../../graphql/connections.ts'
import type { Publisher } from '../../publishers/entity.ts'
import { countByPublisher } from '../../publishers/list.ts'
import { Package } from '../entity.ts'
import { listed } from '../policy.ts'

type Page = Parameters<typeof pageByKey>[0]

/** Packages of a publisher by name, as a connection; unlisted ones only for those who may see them. */
export function listPublisherPackages(em: EntityManager, { id }: Publisher, seesUnlisted: boolean, page: Page) {
  const where: FilterQuery<Package> = { publisher: id, ...(!seesUnlisted && listed) }
  return pageByKey(page, {
    keyOf: ({ name }: Package) => name,
    isKey: anyText,
    load: (limit, after) =>
      em.find(Package, { $and: [where, after === undefined ? {} : { name: { $gt: after } }] }, { orderBy: { name: 'asc' }, limit }),
    count: () => em.count(Package, where),
  })
}

/** How many packages a publisher owns: all, or those that are in lists. */
export const countAllPackages = batched((em, ids) => countByPublisher(em, 'packages', ids))
export const countListedPackages = batched((em, ids) => countByPublisher(em, 'packages', ids, ' and is_unlisted = false'))
