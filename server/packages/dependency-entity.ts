import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { PackageVersion } from './entity.ts'

export const dependencyKinds = ['direct', 'dev'] as const

/** A dependency that a version states, as a row, so that dependents can be found. It never changes. */
export const PackageDependency = defineEntity({
  name: 'PackageDependency',
  tableName: 'package_dependencies',
  indexes: [{ properties: ['name', 'version'] }],
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    kind: p.enum(dependencyKinds).primary(),
    name: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    constraint: p.text(),
    /** Where the client looks for it, when the pubspec says so; null for its default registry and for what comes with an SDK. */
    hostedUrl: p.text().nullable(),
    /** The SDK that it comes with. */
    sdk: p.string().length(64).nullable(),
  },
})
export type PackageDependency = InferEntity<typeof PackageDependency>

/** The number of a version that was deleted: it stays taken, also when its package is gone (pub's protocol, "Publish"). */
export const DeletedVersion = defineEntity({
  name: 'DeletedVersion',
  tableName: 'deleted_versions',
  properties: {
    packageName: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    version: p.string().length(64).primary(),
    deletedAt: p.datetime(3),
    /** Its archive, which is kept aside for a week; null for what was deleted before this was kept. */
    archiveSha256: p.string().length(64).nullable(),
  },
})
export type DeletedVersion = InferEntity<typeof DeletedVersion>
