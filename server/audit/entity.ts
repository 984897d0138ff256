import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'

/** One thing that happened. Entries are never changed, so they point at people and packages by value, not by key. */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  extends: Base,
  indexes: [{ properties: ['createdAt'] }],
  properties: {
    kind: p.string().length(64).index(),
    /** One sentence for people. */
    summary: p.string().length(500),
    actorId: p.uuid().nullable().index(),
    /** The account that was acted upon, when it is not a package. */
    userId: p.uuid().nullable().index(),
    package: p.string().length(64).nullable().index(),
    version: p.string().length(64).nullable(),
    clientIp: p.string().length(45).nullable(),
  },
})
export type AuditEntry = InferEntity<typeof AuditEntry>
