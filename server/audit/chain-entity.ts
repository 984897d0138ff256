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

/**
 * An end of the audit log that was cut off: the entries at these positions of the hash chain and before it were deleted because of their age. Like
 * entries, cuts are never changed. The database deletes entries that a cut covers, and no others; it takes a cut only of entries that are in the
 * chain, older than the shortest retention, not the newest, and named by an entry that stays.
 *
 * Whoever has the server's connection to the database can, with SQL of their own, cut off old entries sooner than the owner set, though never the
 * ones of the last 90 days, and never without an entry that says so. Triggers do not stop who may drop them, which are the owner of the tables and
 * superusers: what those delete or change shows only by comparing the chain with a hash that was kept elsewhere.
 */
export const AuditCut = defineEntity({
  name: 'AuditCut',
  tableName: 'audit_cuts',
  properties: {
    /** The audit entry about it. */
    entryId: p.uuid().primary(),
    /** Where the last of the deleted entries stood in the chain. */
    position: p.bigint('number').unique(),
    /** The hash there, which the next one in the chain builds on. */
    hash: p.string().length(64),
    /** Whatever was deleted was older than this moment. */
    keptFrom: p.datetime(3),
  },
})
export type AuditCut = InferEntity<typeof AuditCut>
