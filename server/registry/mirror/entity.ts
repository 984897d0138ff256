import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../../accounts/users/entity.ts'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** What a mirrored file is. `names`: the names of all upstream packages, for completion. */
export type MirrorKind = 'listing' | 'archive' | 'advisories' | 'score' | 'options' | 'publisher' | 'attestation' | 'names'

const MirrorEntrySchema = defineEntity({
  name: 'MirrorEntry',
  tableName: 'mirror_entries',
  indexes: [
    { properties: ['kind', 'name'] },
    { name: 'mirror_entries_kept_by_use', properties: ['usedAt', 'name'], where: 'sha256 is not null or failure is not null' },
    { name: 'mirror_entries_kept_by_name', properties: ['name', 'usedAt'], where: 'sha256 is not null or failure is not null' },
  ],
  properties: {
    /** Kind, package name and version, separated by colons (`entryKey`). */
    key: p.string().length(160).primary().ignoreSchemaChanges('collation'),
    kind: p.string().$type<MirrorKind>().length(16),
    /** Package name; empty for `names`. */
    name: p.string().length(64).ignoreSchemaChanges('collation'),
    /** Version of an archive or attestation; otherwise empty. */
    version: p.string().length(64).default(''),
    /** SHA-256 of the file in the mirror's store; null if the upstream server has no such file, or if it was not fetched yet. */
    sha256: p.string().length(64).nullable().index(),
    bytes: p.integer().default(0),
    crc32c: p.string().length(8).nullable(),
    /** ETag of the upstream response. */
    etag: p.string().length(255).nullable(),
    /** Of a listing: when the ages of versions begin that do not begin at the stated date, as JSON by version (`agesText`). */
    ages: p.text().nullable(),
    /** When the upstream server last confirmed this state (also that there is no such file); null until then. */
    checkedAt: p.datetime(3).nullable(),
    /** When the file was last sent, accurate to half a day. */
    usedAt: p.datetime(3).index(),
    /** When and why the last request to the upstream server failed; null after a success. */
    failedAt: p.datetime(3).nullable(),
    failure: p.string().length(500).nullable(),
    /** Until when an instance that is fetching the file keeps others from doing so. */
    leasedUntil: p.datetime(3).nullable(),
  },
})

/** A file of the upstream server in the mirror, which is a cache: rows and files may be deleted at any time. */
export class MirrorEntry extends MirrorEntrySchema.class {}
MirrorEntrySchema.setClass(MirrorEntry)

/** The name of a package whose listing the mirror has stored before. Kept when the cache forgets the package. */
export const MirroredName = defineEntity({
  name: 'MirroredName',
  tableName: 'mirrored_names',
  properties: {
    name: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    mirroredAt: p.datetime(3),
  },
})

const MirrorDecisionSchema = defineEntity({
  name: 'MirrorDecision',
  tableName: 'mirror_decisions',
  extends: Base,
  indexes: [
    { properties: ['lastAt', 'id'] },
    { properties: ['rule', 'lastAt'] },
    { name: 'mirror_decisions_effects', properties: ['rule', 'outcome', 'lastAt', 'packageName', 'user', 'count'] },
  ],
  properties: {
    /** SHA-256 of outcome, rule, package, version, reason and user, which identify a decision. */
    key: p.string().length(64).unique(),
    /** `refused` or `audited` (would have been refused) by a policy; `fault`: the upstream server sent something unusable. */
    outcome: p.string().$type<'refused' | 'audited' | 'fault'>().length(16),
    /** The policy, or the kind of fault. */
    rule: p.string().length(32),
    packageName: p.string().length(64).index().ignoreSchemaChanges('collation'),
    /** Empty if the decision concerns the whole package. */
    version: p.string().length(64).default(''),
    reason: p.string().length(500),
    /** Who requested it; null for callers who are not signed in, and for faults. */
    user: () => p.manyToOne(User).nullable().deleteRule('cascade').index(),
    /** Number of requests. */
    count: p.integer().default(1),
    lastAt: p.datetime(3),
  },
})

/** A decision of a mirror policy, or a fault of the upstream server, with the number of times it occurred. */
export class MirrorDecision extends MirrorDecisionSchema.class {}
MirrorDecisionSchema.setClass(MirrorDecision)

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof MirrorEntrySchema | typeof MirroredName | typeof MirrorDecisionSchema> {}
}
