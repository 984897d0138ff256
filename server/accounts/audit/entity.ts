import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'

/** An event. Entries are immutable and deleted by retention only, so they refer to users and packages by value, without foreign keys. */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  extends: Base,
  // Including the id allows a filtered page to be read in index order, independent of the size of the log.
  indexes: [
    { properties: ['createdAt'] },
    { properties: ['kind', 'id'] },
    { properties: ['actorId', 'id'] },
    { properties: ['userId', 'id'] },
    { properties: ['package', 'id'] },
    { properties: ['publisher', 'id'] },
  ],
  properties: {
    kind: p.string().length(64),
    /** Text of the entry: a sentence for people. */
    summary: p.string().length(500),
    actorId: p.uuid().nullable(),
    /** The account that the action was applied to, if any. */
    userId: p.uuid().nullable(),
    package: p.string().length(64).nullable(),
    publisher: p.string().length(64).nullable(),
    version: p.string().length(64).nullable(),
    clientIp: p.string().length(45).nullable(),
  },
})
export type AuditEntry = InferEntity<typeof AuditEntry>
