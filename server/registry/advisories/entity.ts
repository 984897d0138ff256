import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A security advisory in OSV format. It may refer to packages that do not exist on this server (yet). */
export const Advisory = defineEntity({
  name: 'Advisory',
  tableName: 'advisories',
  extends: Base,
  properties: {
    /** OSV identifier, such as GHSA-9v85-q87q-g4vg. */
    osvId: p.string().length(128).unique().ignoreSchemaChanges('collation'),
    /** Modification date stated in the advisory. An older advisory never replaces a newer one. */
    modifiedAt: p.datetime(3),
    withdrawnAt: p.datetime(3).nullable(),
    summary: p.string().length(500),
    /** The complete advisory as JSON text. */
    document: p.text(),
  },
})
export type Advisory = InferEntity<typeof Advisory>

/** Name of a package that an advisory affects. */
export const AdvisoryPackage = defineEntity({
  name: 'AdvisoryPackage',
  tableName: 'advisory_packages',
  properties: {
    advisory: () => p.manyToOne(Advisory).deleteRule('cascade').primary(),
    packageName: p.string().length(64).primary().index().ignoreSchemaChanges('collation'),
  },
})
export type AdvisoryPackage = InferEntity<typeof AdvisoryPackage>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof Advisory | typeof AdvisoryPackage> {}
}
