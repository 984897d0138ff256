import type { Context } from '../../../platform/access/context.ts'
import { viewerCan } from '../../../platform/access/policy.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { UserRef } from '../../../accounts/users/refs.ts'
import type { User } from '../../../accounts/users/entity.ts'
import { loadMembers, loadPublisher } from '../../publishers/list.ts'
import { canSeeMembers } from '../../publishers/policy.ts'
import { PublisherRef } from '../../publishers/refs.ts'
import type { Package } from '../entity.ts'
import { canUsePublishRight } from '../policy.ts'
import { PackageRef } from '../refs.ts'
import { loadUploaders } from '../service.ts'

const PublishAccessRef = builder.objectRef<Package>('PublishAccess').implement({
  description:
    'Who can publish versions of a package, in addition to the administrators of the server. Accounts that cannot publish are omitted.',
  authScopes: { scope: 'read' },
  fields: (t) => ({
    uploaders: t.field({
      extensions: { size: 5 },
      type: [UserRef],
      description: 'Uploaders of the package, by name.',
      resolve: async (pkg, _args, context) =>
        ((await loadUploaders(context, pkg.id)) ?? []).map(({ user }) => user).filter(canUsePublishRight),
    }),
    publisher: t.field({
      type: PublisherRef,
      nullable: true,
      description: 'The publisher whose members can publish; null if the package has none.',
      resolve: ({ publisher }, _args, context) => (publisher ? loadPublisher(context, publisher.id) : null),
    }),
    memberCount: t.int({
      description: 'Number of members of the publisher who can publish; 0 without a publisher.',
      resolve: async (pkg, _args, context) => (await membersOf(context, pkg)).length,
    }),
    members: t.field({
      extensions: { size: 20 },
      type: [UserRef],
      nullable: true,
      description:
        'Members of the publisher who can publish, by name. Null except for its members and administrators, and without a publisher.',
      resolve: async (pkg, _args, context) =>
        pkg.publisher && (await viewerCan(context, canSeeMembers, pkg.publisher)) ? membersOf(context, pkg) : null,
    }),
  }),
})

async function membersOf(context: Context, { publisher }: Package): Promise<User[]> {
  const members = publisher ? ((await loadMembers(context, publisher.id)) ?? []) : []
  return members.map(({ user }) => user).filter(canUsePublishRight)
}

builder.objectField(PackageRef, 'publishAccess', (t) =>
  t.field({
    type: PublishAccessRef,
    description: 'Who can publish versions of the package, and why.',
    resolve: (pkg) => pkg,
  }),
)
