import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Package, PackageVersion } from '../packages/entity.ts'

/** How often a version's archive was fetched on a day. Days are counted from 1970-01-01, in UTC. */
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

/** The same of a package: what versions had that are deleted by now, stays. */
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
