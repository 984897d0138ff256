import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../../accounts/users/entity.ts'
import { Package } from '../packages/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A package whose new versions a user follows. Deleted along with the user or the package. */
export const PackageWatch = defineEntity({
  name: 'PackageWatch',
  tableName: 'package_watches',
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').primary(),
    package: () => p.manyToOne(Package).deleteRule('cascade').primary().index(),
    createdAt: p.datetime(3),
  },
})
export type PackageWatch = InferEntity<typeof PackageWatch>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof PackageWatch> {}
}
