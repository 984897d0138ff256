import { builder } from '../graphql/builder.ts'
import { formerMemberRole } from '../users/refs.ts'
import type { Publisher, PublisherRole } from './entity.ts'
import type { Membership } from './members.ts'

/** GraphQL references for publishers and members. Declared before the types are implemented, because other features refer to them. */
export const PublisherRef = builder.objectRef<Publisher>('Publisher')
export const PublisherMemberRef = builder.objectRef<Membership>('PublisherMember')

export const PublisherRoleEnum = builder.enumType('PublisherRole', {
  description: 'What somebody may do for a publisher.',
  values: {
    EDITOR: formerMemberRole,
    ADMIN: { value: 'admin', description: 'Publish, manage members and packages, and change its details.' },
    MEMBER: { value: 'member', description: 'Publish.' },
  } satisfies Record<Uppercase<PublisherRole> | 'EDITOR', { value: PublisherRole; description: string }>,
})
