import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../users/entity.ts'

/** The name of a deleted package. Nobody publishes under it until an administrator frees it; then the row goes. */
export const ReservedName = defineEntity({
  name: 'ReservedName',
  tableName: 'reserved_names',
  properties: {
    name: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    /** The name without underscores and digits, to find names that are told apart by those alone. */
    skeleton: p.string().length(64).default('').index().ignoreSchemaChanges('collation'),
    /** When the package was deleted. */
    reservedAt: p.datetime(3),
    /** Who deleted it; null when that account is gone, and for packages deleted before names were reserved. */
    reservedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
  },
})
export type ReservedName = InferEntity<typeof ReservedName>

/**
 * A name that could be confused with another one. It belongs to a package, or somebody tried to publish under it and waits for approval.
 * A package that was published without approval warns of it until an administrator approves the name.
 */
export const ConfusableName = defineEntity({
  name: 'ConfusableName',
  tableName: 'confusable_names',
  indexes: [{ properties: ['approvedAt', 'name'] }],
  properties: {
    name: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    /** The names it could be confused with, separated by spaces; empty when it was approved before anybody published under it. */
    similarNames: p.text(),
    noticedAt: p.datetime(3),
    /** Who wanted to publish under it. */
    requestedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
    approvedAt: p.datetime(3).nullable(),
    approvedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
  },
})
export type ConfusableName = InferEntity<typeof ConfusableName>
