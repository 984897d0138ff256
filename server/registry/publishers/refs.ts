import { builder } from '../../platform/graphql/builder.ts'
import { formerMemberRole } from '../../accounts/users/refs.ts'
import type { Publisher, PublisherRole } from './entity.ts'
import type { Membership } from './members.ts'

/** GraphQL references for publishers and members. Declared before the types are implemented, because other features refer to them. */
export const PublisherRef = builder.objectRef<Publisher>('Publisher')
export const PublisherMemberRef = builder.objectRef<Membership>('PublisherMember')

export const PublisherRoleEnum = builder.enumType('PublisherRole', {
  description: 'Role of a member of a publisher.',
  values: {
    EDITOR: formerMemberRole,
    ADMIN: { value: 'admin', description: 'Can publish, manage members and packages, and change the details of the publisher.' },
    MEMBER: { value: 'member', description: 'Can publish.' },
  } satisfies Record<Uppercase<PublisherRole> | 'EDITOR', { value: PublisherRole; description: string }>,
})
