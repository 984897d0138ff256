import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'

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
