import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** The position of an audit entry in the hash chain. Links are immutable. */
export const AuditLink = defineEntity({
  name: 'AuditLink',
  tableName: 'audit_chain',
  properties: {
    entryId: p.uuid().primary(),
    /** Position in the hash chain, starting at 1 without gaps. */
    position: p.bigint('number').unique(),
    /** SHA-256 of the previous hash in the chain and the entry. */
    hash: p.string().length(64),
  },
})
export type AuditLink = InferEntity<typeof AuditLink>

/**
 * Records that the beginning of the audit log was deleted by retention: the entries up to this position of the hash chain. Cuts are immutable.
 * Database triggers allow deleting only entries that a cut covers. They accept a cut only if its entries are in the chain, are older than the
 * minimum retention, do not include the newest one, and are named by an audit entry that remains.
 *
 * Limits of this protection: anyone with the database connection of the server can run SQL that deletes old entries sooner than the owner has set,
 * but never entries of the last 90 days, and never without an audit entry about it. The table owner and superusers can drop the triggers. What they
 * change is detected only by comparing the chain with a hash that was stored elsewhere.
 */
export const AuditCut = defineEntity({
  name: 'AuditCut',
  tableName: 'audit_cuts',
  properties: {
    /** Id of the audit entry that records the deletion. */
    entryId: p.uuid().primary(),
    /** Chain position of the last deleted entry. */
    position: p.bigint('number').unique(),
    /** Hash at that chain position, which the hash of the next link builds on. */
    hash: p.string().length(64),
    /** All deleted entries were older than this time. */
    keptFrom: p.datetime(3),
  },
})
export type AuditCut = InferEntity<typeof AuditCut>
