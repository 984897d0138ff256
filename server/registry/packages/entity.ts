import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { Publisher } from '../publishers/entity.ts'
import { User } from '../../accounts/users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

export const visibilities = ['private', 'public'] as const
export type Visibility = (typeof visibilities)[number]

/** A package. `revision` increases with every change that is visible in the package's listing and validates cached listings. */
export const Package = defineEntity({
  name: 'Package',
  tableName: 'packages',
  extends: Base,
  indexes: [
    { name: 'packages_listed_name', properties: ['name'], where: 'not is_unlisted' },
    { name: 'packages_discontinued_name', properties: ['name'], where: 'is_discontinued' },
  ],
  properties: {
    name: p.string().length(64).unique().ignoreSchemaChanges('collation'),
    /** The name without underscores and digits, used to find names that differ only in those. */
    skeleton: p.string().length(64).default('').index().ignoreSchemaChanges('collation'),
    revision: p.integer().default(0),
    updatedAt: p.datetime(3).index(),
    description: p.text(),
    latestVersion: p.string().length(64),
    /** The highest pre-release, if it is higher than the latest stable version; otherwise null. */
    latestPrerelease: p.string().length(64).nullable(),
    /** The publisher that owns the package; null if only its uploaders do. A publisher that owns packages cannot be deleted. */
    publisher: () => p.manyToOne(Publisher).nullable().deleteRule('restrict').index(),
    /** Who can read the package: signed-in users, or everyone if the server allows public packages. */
    visibility: p.enum(visibilities).default('private').index(),
    isDiscontinued: p.boolean().default(false),
    /** Name of the package to use instead. Set only while the package is discontinued. */
    replacedBy: p.string().length(64).nullable(),
    /** When the package's security advisories last changed; null if it never had any. The value never decreases. */
    advisoriesUpdated: p.datetime(3).nullable(),
    /** Whether the package is excluded from search, lists and name completion. */
    isUnlisted: p.boolean().default(false),
    /** Whether people can publish. Otherwise only jobs of trusted publishers can. */
    allowsManualPublishing: p.boolean().default(true),
  },
})
export type Package = InferEntity<typeof Package>

/** A published version. Its archive and its pubspec are immutable. */
export const PackageVersion = defineEntity({
  name: 'PackageVersion',
  tableName: 'package_versions',
  extends: Base,
  properties: {
    package: () => p.manyToOne(Package).deleteRule('cascade'),
    version: p.string().length(64),
    /** Version encoded so that byte order equals version order. */
    sortKey: p.string().length(255).ignoreSchemaChanges('collation'),
    isPrerelease: p.boolean(),
    retractedAt: p.datetime(3).nullable(),
    publishedBy: () => p.manyToOne(User).nullable().deleteRule('set null'),
    archiveSha256: p.string().length(64).index(),
    archiveBytes: p.bigint('number'),
    /** CRC-32C of the archive, big-endian and base64-encoded, which pub verifies after a download. */
    archiveCrc32c: p.string().length(8),
    /** The pubspec as JSON text, exactly as it appears in listings. */
    pubspec: p.text(),
    /** SPDX license identifier, or `unknown`. Null for versions published before license detection, until they are reindexed. */
    license: p.string().length(64).nullable(),
  },
  uniques: [{ properties: ['package', 'version'] }],
  indexes: [
    { properties: ['package', 'sortKey'] },
    { properties: ['package', 'archiveBytes'] },
    { properties: ['package', 'retractedAt', 'id'] },
    { properties: ['createdAt'] },
  ],
})
export type PackageVersion = InferEntity<typeof PackageVersion>

export const documentKinds = ['readme', 'changelog', 'license', 'example'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** A text file from a version's archive, such as its README. */
export const VersionDocument = defineEntity({
  name: 'VersionDocument',
  tableName: 'version_documents',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    kind: p.enum(documentKinds).primary(),
    path: p.string().length(255),
    content: p.text(),
  },
})
export type VersionDocument = InferEntity<typeof VersionDocument>

/** A user with write access to a package. */
export const PackageUploader = defineEntity({
  name: 'PackageUploader',
  tableName: 'package_uploaders',
  properties: { package: () => p.manyToOne(Package).deleteRule('cascade').primary(), user: () => p.manyToOne(User).primary().index() },
})
export type PackageUploader = InferEntity<typeof PackageUploader>

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

/** An archive that was found missing or damaged by a download or a check. The row is deleted when the archive is intact again. */
export const ArchiveFault = defineEntity({
  name: 'ArchiveFault',
  tableName: 'archive_faults',
  properties: { sha256: p.string().length(64).primary(), kind: p.enum(['missing', 'damaged'] as const), foundAt: p.datetime(3) },
})
export type ArchiveFault = InferEntity<typeof ArchiveFault>

/** A current or former address of this server. Published packages refer to it permanently. */
export const ServerAddress = defineEntity({
  name: 'ServerAddress',
  tableName: 'server_addresses',
  properties: {
    /** Normalized form, for comparison. */
    address: p.string().length(2048).primary(),
    firstUsedAt: p.datetime(3),
    /** When the server last started with this address. */
    lastUsedAt: p.datetime(3),
  },
})
export type ServerAddress = InferEntity<typeof ServerAddress>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<
    | typeof Package
    | typeof PackageVersion
    | typeof VersionDocument
    | typeof PackageUploader
    | typeof PackageDependency
    | typeof DeletedVersion
    | typeof ArchiveFault
    | typeof ServerAddress
  > {
    // Tables that triggers maintain (see dependents/service.ts). Their rows are not converted: SQLite returns booleans as numbers.

    /** Dependencies of latest versions. A source is the registry URL, empty without one, and `-` without such a dependency. */
    package_dependents: {
      name: string
      package_name: string
      package_id: string
      version: string
      direct_constraint: string | null
      direct_source: string
      dev_constraint: string | null
      dev_source: string
    }

    /** Numbers of `package_dependents`, by the sources that they name. */
    dependent_counts: { name: string; direct_source: string; dev_source: string; dependents: number }

    /** Different constraints of all versions of a package. */
    package_requirements: {
      name: string
      package_name: string
      package_id: string
      kind: 'direct' | 'dev'
      source: string
      constraint: string
      is_public: boolean
      versions: number
    }

    /** Numbers of versions and sizes of archives. */
    package_totals: { package_id: string; name: string; versions: number; archive_bytes: number }
  }
}
