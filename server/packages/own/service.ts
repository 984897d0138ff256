import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { anyText, pageByKey } from '../../graphql/connections.ts'
import { Package } from '../entity.ts'
import { isPublishedBy } from '../policy.ts'

/** The packages that somebody may publish to as a named uploader or as a member of the owning publisher, by name, as a connection. */
export function listOwnPackages(em: EntityManager, userId: string, page: Parameters<typeof pageByKey>[0]) {
  const where: FilterQuery<Package> = {
    [raw((alias) => isPublishedBy(alias), [userId, userId])]: [],
  }
  return pageByKey(page, {
    keyOf: ({ name }: Package) => name,
    isKey: anyText,
    load: (limit, after) =>
      em.find(Package, { $and: [where, after === undefined ? {} : { name: { $gt: after } }] }, { orderBy: { name: 'asc' }, limit }),
    count: () => em.count(Package, where),
  })
}
