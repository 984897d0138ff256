import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { PackageVersion } from './entity.ts'

export const dependencyKinds = ['direct', 'dev'] as const

/** A dependency declared by a version, stored as a row so that dependents can be queried. Rows are immutable. */
export const PackageDependency = defineEntity({
  name: 'PackageDependency',
  tableName: 'package_dependencies',
  indexes: [{ properties: ['name', 'version'] }],
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    kind: p.enum(dependencyKinds).primary(),
    name: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    constraint: p.text(),
    /** Registry URL from the pubspec; null for the client's default registry and for SDK dependencies. */
    hostedUrl: p.text().nullable(),
    /** Name of the SDK that provides the package, for SDK dependencies. */
    sdk: p.string().length(64).nullable(),
  },
})
export type PackageDependency = InferEntity<typeof PackageDependency>

/** The number of a deleted version. It can never be published again, even after its package is deleted (pub's protocol, "Publish"). */
export const DeletedVersion = defineEntity({
  name: 'DeletedVersion',
  tableName: 'deleted_versions',
  properties: {
    packageName: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    version: p.string().length(64).primary(),
    deletedAt: p.datetime(3),
    /** SHA-256 of the archive, which is kept for a week after the deletion. Null for versions deleted before this column existed. */
    archiveSha256: p.string().length(64).nullable(),
  },
})
export type DeletedVersion = InferEntity<typeof DeletedVersion>
