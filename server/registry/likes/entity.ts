import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Package } from '../packages/entity.ts'
import { User } from '../../accounts/users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A user's like of a package. Deleted along with the user or the package. */
export const PackageLike = defineEntity({
  name: 'PackageLike',
  tableName: 'package_likes',
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').primary(),
    package: () => p.manyToOne(Package).deleteRule('cascade').primary().index(),
    createdAt: p.datetime(3),
  },
})
export type PackageLike = InferEntity<typeof PackageLike>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof PackageLike> {}
}
