import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

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
    { name: 'audit_entries_deleted_publisher', properties: ['publisher', 'id'], where: "kind = 'publisher.deleted'" },
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

/** Start of the summary of actions on the command line, whose actor and address are unknown. */
export const operator = 'The operator'

/** Name shown for users whose account was deleted. */
export const deletedUser = 'deleted user'

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

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof AuditEntry | typeof AuditLink | typeof AuditCut> {}
}
