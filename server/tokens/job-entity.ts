import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'

/**
 * What the server's own jobs read packages with, as package clients do. It belongs to no person, is in no list, and is deleted with its job. Only
 * the SHA-256 of the secret is kept.
 */
export const JobToken = defineEntity({
  name: 'JobToken',
  tableName: 'job_tokens',
  extends: Base,
  properties: {
    hash: p.string().length(64).unique(),
    /** The packages that it reads, by name, separated by commas. */
    packages: p.text(),
    /** Whether it may read only what is public. */
    isForAnybody: p.boolean().default(false),
    expiresAt: p.datetime(3).index(),
  },
})
export type JobToken = InferEntity<typeof JobToken>
