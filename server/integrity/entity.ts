import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'

/** What a check of the stored archives found. It never changes. */
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
    /** The first of what was found, as JSON text. */
    findings: p.text(),
  },
})
export type IntegrityReport = InferEntity<typeof IntegrityReport>
