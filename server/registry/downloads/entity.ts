import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Package, PackageVersion } from '../packages/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** Downloads of a version's archive per day. `day` is the number of days since 1970-01-01 in UTC. */
export const VersionDownloads = defineEntity({
  name: 'VersionDownloads',
  tableName: 'version_downloads',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    day: p.integer().primary(),
    downloads: p.bigint('number'),
  },
})
export type VersionDownloads = InferEntity<typeof VersionDownloads>

/** Downloads of a package per day. Includes downloads of versions that have since been deleted. */
export const PackageDownloads = defineEntity({
  name: 'PackageDownloads',
  tableName: 'package_downloads',
  properties: {
    package: () => p.manyToOne(Package).deleteRule('cascade').primary(),
    day: p.integer().primary().index(),
    downloads: p.bigint('number'),
  },
})
export type PackageDownloads = InferEntity<typeof PackageDownloads>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof VersionDownloads | typeof PackageDownloads> {}
}
