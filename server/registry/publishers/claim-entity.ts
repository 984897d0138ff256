import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../../accounts/users/entity.ts'

/** A user's pending claim to a domain. To complete the claim, the domain's TXT record must contain the token before `expiresAt`. */
export const PublisherClaim = defineEntity({
  name: 'PublisherClaim',
  tableName: 'publisher_claims',
  properties: {
    domain: p.string().length(64).primary(),
    user: () => p.manyToOne(User).deleteRule('cascade').primary().index(),
    /** Not secret: the token is published in the DNS. */
    token: p.string().length(64),
    displayName: p.string().length(100),
    expiresAt: p.datetime(3).index(),
  },
})
export type PublisherClaim = InferEntity<typeof PublisherClaim>
