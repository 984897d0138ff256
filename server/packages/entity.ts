import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'
import { Publisher } from '../publishers/entity.ts'
import { User } from '../users/entity.ts'

export const visibilities = ['private', 'public'] as const
export type Visibility = (typeof visibilities)[number]

/** A package. `revision` grows with every change that its listing shows, so that caches can tell. */
export const Package = defineEntity({
  name: 'Package',
  tableName: 'packages',
  extends: Base,
  properties: {
    name: p.string().length(64).unique().ignoreSchemaChanges('collation'),
    /** The name without underscores and digits, to find names that are told apart by those alone. */
    skeleton: p.string().length(64).default('').index().ignoreSchemaChanges('collation'),
    revision: p.integer().default(0),
    updatedAt: p.datetime(3).index(),
    description: p.text(),
    latestVersion: p.string().length(64),
    /** Only while it is above the latest stable version. */
    latestPrerelease: p.string().length(64).nullable(),
    /** The owner; without one, the uploaders alone are. A publisher that owns packages cannot be deleted. */
    publisher: () => p.manyToOne(Publisher).nullable().deleteRule('restrict').index(),
    /** Who may read it: whoever signed in, or anybody where the server permits that. */
    visibility: p.enum(visibilities).default('private').index(),
    isDiscontinued: p.boolean().default(false),
    /** The name of a package to use instead; only while it is discontinued. */
    replacedBy: p.string().length(64).nullable(),
    /** When the advisories of the package last changed; null while there were never any. It never goes back. */
    advisoriesUpdated: p.datetime(3).nullable(),
    /** Kept out of search, lists and name completion. */
    isUnlisted: p.boolean().default(false),
  },
})
export type Package = InferEntity<typeof Package>

/** One published version; its bytes and its pubspec never change. */
export const PackageVersion = defineEntity({
  name: 'PackageVersion',
  tableName: 'package_versions',
  extends: Base,
  properties: {
    package: () => p.manyToOne(Package).deleteRule('cascade'),
    version: p.string().length(64),
    /** Sorts bytewise as the versions do. */
    sortKey: p.string().length(255).ignoreSchemaChanges('collation'),
    isPrerelease: p.boolean(),
    retractedAt: p.datetime(3).nullable(),
    publishedBy: () => p.manyToOne(User).nullable().deleteRule('set null'),
    archiveSha256: p.string().length(64).index(),
    archiveBytes: p.bigint('number'),
    /** Base64 of the big-endian CRC-32C, as the client checks it. */
    archiveCrc32c: p.string().length(8),
    /** The pubspec as JSON text, exactly as listings show it. */
    pubspec: p.text(),
    /** SPDX identifier, or `unknown`; null for versions from before licenses were recognized, until they are indexed anew. */
    license: p.string().length(64).nullable(),
  },
  uniques: [{ properties: ['package', 'version'] }],
  indexes: [
    { properties: ['package', 'sortKey'] },
    { properties: ['package', 'archiveBytes'] },
    { properties: ['package', 'retractedAt'] },
  ],
})
export type PackageVersion = InferEntity<typeof PackageVersion>

export const documentKinds = ['readme', 'changelog', 'license', 'example'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** A text that came with a version. */
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

/** A named person with write access to a package. */
export const PackageUploader = defineEntity({
  name: 'PackageUploader',
  tableName: 'package_uploaders',
  properties: {
    package: () => p.manyToOne(Package).deleteRule('cascade').primary(),
    user: () => p.manyToOne(User).primary().index(),
  },
})
export type PackageUploader = InferEntity<typeof PackageUploader>
