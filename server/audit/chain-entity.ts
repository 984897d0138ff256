import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** The place of an audit entry in the hash chain. Like entries, links are never changed. */
export const AuditLink = defineEntity({
  name: 'AuditLink',
  tableName: 'audit_chain',
  properties: {
    entryId: p.uuid().primary(),
    /** 1 for the first entry, without gaps. */
    position: p.bigint('number').unique(),
    /** SHA-256 of the hash before and of the entry. */
    hash: p.string().length(64),
  },
})
export type AuditLink = InferEntity<typeof AuditLink>
