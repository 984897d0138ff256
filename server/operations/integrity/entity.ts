import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** Result of a check of the stored archives. Immutable. */
export const IntegrityReport = defineEntity({
  name: 'IntegrityReport',
  tableName: 'integrity_reports',
  extends: Base,
  properties: {
    finishedAt: p.datetime(3),
    archives: p.integer(),
    bytes: p.bigint('number'),
    missing: p.integer(),
    damaged: p.integer(),
    orphans: p.integer(),
    orphanBytes: p.bigint('number'),
    /** The first findings, as JSON. */
    findings: p.text(),
  },
})
export type IntegrityReport = InferEntity<typeof IntegrityReport>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof IntegrityReport> {}
}
