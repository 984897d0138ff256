import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'

/** A security advisory, as somebody wrote it in OSV form. It may name packages that are not here (yet). */
export const Advisory = defineEntity({
  name: 'Advisory',
  tableName: 'advisories',
  extends: Base,
  properties: {
    /** Its identifier in OSV, such as GHSA-9v85-q87q-g4vg. */
    osvId: p.string().length(128).unique().ignoreSchemaChanges('collation'),
    /** When it last changed, as it says itself: an older one never replaces a newer one. */
    modifiedAt: p.datetime(3),
    withdrawnAt: p.datetime(3).nullable(),
    summary: p.string().length(500),
    /** The whole advisory, as JSON text. */
    document: p.text(),
  },
})
export type Advisory = InferEntity<typeof Advisory>

/** A package that an advisory is about, by name. */
export const AdvisoryPackage = defineEntity({
  name: 'AdvisoryPackage',
  tableName: 'advisory_packages',
  properties: {
    advisory: () => p.manyToOne(Advisory).deleteRule('cascade').primary(),
    packageName: p.string().length(64).primary().index().ignoreSchemaChanges('collation'),
  },
})
export type AdvisoryPackage = InferEntity<typeof AdvisoryPackage>
