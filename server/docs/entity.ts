import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { PackageVersion } from '../packages/entity.ts'

export const docsStates = ['pending', 'running', 'completed', 'failed'] as const

/** The API documentation of a version: how far it is, and the pages that are there. Pages stay while newer ones are made, and when that fails. */
export const VersionDocs = defineEntity({
  name: 'VersionDocs',
  tableName: 'version_docs',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    /** Of the attempt that was asked for last. */
    state: p.enum(docsStates),
    /** Counts the attempts that were asked for. */
    requested: p.integer().default(0),
    /** The attempt that made the pages; 0 while there are none. Those of an earlier one never replace them. */
    generation: p.integer().default(0),
    engine: p.string().length(32).nullable(),
    engineVersion: p.string().length(100).nullable(),
    /** The packed pages in the store. */
    sha256: p.string().length(64).nullable().index(),
    bytes: p.bigint('number').nullable(),
    pages: p.integer().default(0),
    generatedAt: p.datetime(3).nullable(),
    /** Why the last attempt failed. */
    error: p.string().length(1000).nullable(),
  },
})
export type VersionDocs = InferEntity<typeof VersionDocs>
