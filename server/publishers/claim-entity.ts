import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../users/entity.ts'

/** Somebody's intention to prove that they hold a domain: the text that its DNS must show by then. */
export const PublisherClaim = defineEntity({
  name: 'PublisherClaim',
  tableName: 'publisher_claims',
  properties: {
    domain: p.string().length(64).primary(),
    user: () => p.manyToOne(User).deleteRule('cascade').primary().index(),
    /** Anybody may read it in the DNS, so it is no secret. */
    token: p.string().length(64),
    displayName: p.string().length(100),
    expiresAt: p.datetime(3).index(),
  },
})
export type PublisherClaim = InferEntity<typeof PublisherClaim>
