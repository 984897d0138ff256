import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'

/** One thing that happened. Entries are never changed, and deleted because of their age only, so they point at people and packages by value, not by key. */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  extends: Base,
  // With the id, so that a filtered page is read in order, however much there is.
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
    /** One sentence for people. */
    summary: p.string().length(500),
    actorId: p.uuid().nullable(),
    /** The account that was acted upon, when it is not a package or a publisher. */
    userId: p.uuid().nullable(),
    package: p.string().length(64).nullable(),
    publisher: p.string().length(64).nullable(),
    version: p.string().length(64).nullable(),
    clientIp: p.string().length(45).nullable(),
  },
})
export type AuditEntry = InferEntity<typeof AuditEntry>
