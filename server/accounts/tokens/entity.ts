import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { User } from '../users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A personal access token. Only the SHA-256 of the secret is stored. */
export const AccessToken = defineEntity({
  name: 'AccessToken',
  tableName: 'access_tokens',
  extends: Base,
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').index(),
    name: p.string().length(100),
    hash: p.string().length(64).unique(),
    prefix: p.string().length(12),
    /** The granted scopes, separated by commas. The role of the owner may currently allow less. */
    scopes: p.string().length(20),
    expiresAt: p.datetime(3).nullable(),
    lastUsedAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
    /** Limits in addition to the scopes, each a list separated by commas; null for no limit. */
    actions: p.string().length(30).nullable(),
    packages: p.text().nullable(),
    addresses: p.text().nullable(),
    /** Hash of the secret before the last rotation, and how long that secret still works. */
    previousHash: p.string().length(64).nullable().index(),
    previousExpiresAt: p.datetime(3).nullable(),
    /** The token that created this one and whose revocation also revokes this one; null if created in a session. */
    madeWith: () => p.manyToOne(AccessToken).nullable().deleteRule('cascade').index(),
  },
})
export type AccessToken = InferEntity<typeof AccessToken>

/**
 * A token with which a job of the server reads packages, as package clients do. It belongs to no user, is not listed, and is deleted with its job.
 * Only the SHA-256 of the secret is stored.
 */
export const JobToken = defineEntity({
  name: 'JobToken',
  tableName: 'job_tokens',
  extends: Base,
  properties: {
    hash: p.string().length(64).unique(),
    /** Names of the packages that the token can read, separated by commas. */
    packages: p.text(),
    /** Whether the token can read public packages only. */
    isPublicOnly: p.boolean().default(false).name('is_for_anybody'),
    expiresAt: p.datetime(3).index(),
  },
})
export type JobToken = InferEntity<typeof JobToken>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof AccessToken | typeof JobToken> {}
}
