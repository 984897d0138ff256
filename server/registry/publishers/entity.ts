import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../../accounts/users/entity.ts'

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
    role: p.enum(publisherRoles),
    createdAt: p.datetime(3).onCreate(() => new Date()),
  },
})
export type PublisherMember = InferEntity<typeof PublisherMember>
