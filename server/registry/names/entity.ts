import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../../accounts/users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** The reserved name of a deleted package. No package can be published under it until an administrator frees the name, which deletes the row. */
export const ReservedName = defineEntity({
  name: 'ReservedName',
  tableName: 'reserved_names',
  properties: {
    name: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    /** The name without underscores and digits, used to find names that differ only in those. */
    skeleton: p.string().length(64).default('').index().ignoreSchemaChanges('collation'),
    reservedAt: p.datetime(3),
    /** Who deleted the package; null if that account was deleted, and for packages deleted before this column existed. */
    reservedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
  },
})
export type ReservedName = InferEntity<typeof ReservedName>

/**
 * A package name that could be confused with others, or that the mirrored server has: of a package, which shows a warning until its approval, or
 * requested by a user.
 */
export const ConfusableName = defineEntity({
  name: 'ConfusableName',
  tableName: 'confusable_names',
  indexes: [{ properties: ['approvedAt', 'name'] }],
  properties: {
    name: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    /**
     * The similar names, separated by spaces; among them is the name itself if the mirrored server has a package with it. Empty if the name was approved
     * before anyone published under it.
     */
    similarNames: p.text(),
    noticedAt: p.datetime(3),
    /** Why the name needs approval because of the mirrored server, as an independent clause; otherwise null. */
    upstreamReason: p.string().length(500).nullable(),
    /** Whether the approval also applies if the mirrored server has a package with this name. */
    isUpstreamApproved: p.boolean().default(false),
    /** Who tried to publish under the name. */
    requestedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
    approvedAt: p.datetime(3).nullable(),
    approvedBy: () => p.manyToOne(User).nullable().deleteRule('set null').index(),
  },
})
export type ConfusableName = InferEntity<typeof ConfusableName>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof ReservedName | typeof ConfusableName> {}
}
