import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { PackageVersion } from '../../registry/packages/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

export const docsStates = ['pending', 'running', 'completed', 'failed'] as const

/** The API documentation of a version: its state and its current pages. Existing pages stay while newer ones are generated, and if that fails. */
export const VersionDocs = defineEntity({
  name: 'VersionDocs',
  tableName: 'version_docs',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    /** State of the last attempt. */
    state: p.enum(docsStates),
    /** Number of attempts requested. */
    requested: p.integer().default(0),
    /** Number of the attempt that generated the pages; 0 without pages. An earlier attempt never replaces the pages of a later one. */
    generation: p.integer().default(0),
    engine: p.string().length(32).nullable(),
    engineVersion: p.string().length(100).nullable(),
    /** SHA-256 of the packed pages in the store. */
    sha256: p.string().length(64).nullable().index(),
    bytes: p.bigint('number').nullable(),
    pages: p.integer().default(0),
    generatedAt: p.datetime(3).nullable(),
    /** Why the last attempt failed. */
    error: p.string().length(1000).nullable(),
  },
})
export type VersionDocs = InferEntity<typeof VersionDocs>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof VersionDocs> {}
}
