import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../../accounts/users/entity.ts'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A deleted package or a single deleted version, kept for seven days so that it can be restored. `createdAt` is the time of the deletion. */
export const DeletedPackage = defineEntity({
  name: 'DeletedPackage',
  tableName: 'deleted_packages',
  extends: Base,
  indexes: [{ properties: ['name'] }],
  properties: {
    name: p.string().length(64).ignoreSchemaChanges('collation'),
    /** Identifier that the package had, and gets again. */
    packageId: p.uuid(),
    /** Whether the whole package was deleted, or one version of it. */
    isWhole: p.boolean(),
    deletedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
    versions: p.integer(),
    /** Rows of the package as JSON (`packageData`); empty for a version. */
    data: p.text().lazy(),
  },
})
export type DeletedPackage = InferEntity<typeof DeletedPackage>

/** A version of a deleted package, with its rows as JSON (`versionData`). */
export const DeletedPackageVersion = defineEntity({
  name: 'DeletedPackageVersion',
  tableName: 'deleted_package_versions',
  properties: {
    deleted: () => p.manyToOne(DeletedPackage).deleteRule('cascade').primary(),
    version: p.string().length(64).primary(),
    versionId: p.uuid(),
    archiveSha256: p.string().length(64),
    archiveBytes: p.bigint('number'),
    data: p.text().lazy(),
  },
})
export type DeletedPackageVersion = InferEntity<typeof DeletedPackageVersion>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof DeletedPackage | typeof DeletedPackageVersion> {}
}
