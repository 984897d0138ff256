import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../../accounts/users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** An organization that owns packages. Its id is a slug, or its domain if the domain is verified. */
export const Publisher = defineEntity({
  name: 'Publisher',
  tableName: 'publishers',
  properties: {
    id: p.string().length(64).primary().ignoreSchemaChanges('collation'),
    createdAt: p.datetime(3).onCreate(() => new Date()),
    displayName: p.string().length(100),
    description: p.text().default(''),
    websiteUrl: p.text().nullable(),
    contactEmail: p.string().length(254).nullable(),
    isVerified: p.boolean().default(false),
    /** Whether people can publish packages of the publisher. Otherwise only jobs of trusted publishers can. */
    allowsManualPublishing: p.boolean().default(true),
  },
})
export type Publisher = InferEntity<typeof Publisher>

export const publisherRoles = ['admin', 'member'] as const
export type PublisherRole = (typeof publisherRoles)[number]

/** A user's membership in a publisher. */
export const PublisherMember = defineEntity({
  name: 'PublisherMember',
  tableName: 'publisher_members',
  properties: {
    publisher: () => p.manyToOne(Publisher).deleteRule('cascade').primary(),
    user: () => p.manyToOne(User).deleteRule('cascade').primary().index(),
    /** The current role: the higher of the role given by hand and the role given by groups. */
    role: p.enum(publisherRoles),
    /** The role that the groups of a provider give; null if they give none. */
    mappedRole: p.enum(publisherRoles).nullable(),
    /** With `mappedRole`, the role that was given by hand; null if none was. Without `mappedRole`, `role` was given by hand. */
    manualRole: p.enum(publisherRoles).nullable(),
    createdAt: p.datetime(3).onCreate(() => new Date()),
  },
})
export type PublisherMember = InferEntity<typeof PublisherMember>

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

/** State of the TXT record that verifies a publisher. The record is checked every week. */
export const DomainCheck = defineEntity({
  name: 'DomainCheck',
  tableName: 'domain_checks',
  properties: {
    publisher: () => p.manyToOne(Publisher).deleteRule('cascade').primary(),
    /** Token that the record must contain. Null for publishers verified before this column existed; then any well-formed token is accepted. */
    token: p.string().length(64).nullable(),
    /** When the DNS last returned an answer. */
    checkedAt: p.datetime(3).nullable(),
    dueAt: p.datetime(3).index(),
    /** Number of consecutive checks in which the record was missing. */
    misses: p.integer().default(0),
    /** When the publisher lost its verification; `problem` is the reason. Both are null while it is verified. */
    lostAt: p.datetime(3).nullable(),
    problem: p.string().length(500).nullable(),
  },
})
export type DomainCheck = InferEntity<typeof DomainCheck>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof Publisher | typeof PublisherMember | typeof PublisherClaim | typeof DomainCheck> {}
}
