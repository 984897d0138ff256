import { builder } from '../../platform/graphql/builder.ts'
import { formerly, replacedBy } from '../../platform/graphql/former-schema.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { invalidInput } from '../../errors.ts'
import { email } from '../../accounts/users/input.ts'
import { canSeeBelongings } from '../../accounts/users/policy.ts'
import { UserRef, UserReference } from '../../accounts/users/refs.ts'
import { loadMemberships, loadPublisher } from './list.ts'
import { type Membership, type PersonKey, removeMember, setMember } from './members.ts'
import { PublisherMemberRef, PublisherRef, PublisherRoleEnum } from './refs.ts'

PublisherMemberRef.implement({
  description: 'Membership of a user in a publisher.',
  authScopes: { scope: 'read' },
  fields: (t) => ({
    user: t.expose('user', { type: UserRef, description: 'The member.' }),
    role: t.expose('role', { type: PublisherRoleEnum, description: 'Role of the member.' }),
    isFromGroups: t.boolean({
      description: 'Whether groups of a sign-in provider give the role, or a lower one. They decide again at each sign-in of the user.',
      resolve: ({ mappedRole }) => mappedRole != null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the user became a member.' }),
    publisher: t.field({
      type: PublisherRef,
      nullable: true,
      description: 'The publisher; null if it has just been deleted.',
      resolve: ({ publisher }, _args, context) => loadPublisher(context, publisher.id),
    }),
  }),
})

builder.objectField(UserRef, 'memberships', (t) =>
  t.field({
    extensions: { size: 10 },
    type: [PublisherMemberRef],
    nullable: true,
    description: 'Memberships in publishers. Null except for the user and administrators.',
    resolve: async (user, _args, context) => (canSeeBelongings(context, user) ? ((await loadMemberships(context, user.id)) ?? []) : null),
  }),
)

const SetPublisherMemberPayload = builder.objectRef<{ member: Membership }>('SetPublisherMemberPayload').implement({
  description: 'A member after the change.',
  fields: (t) => ({
    member: t.expose('member', { type: PublisherMemberRef, description: 'The member.' }),
    publisher: t.field({
      type: PublisherRef,
      nullable: true,
      description: 'The publisher; null if it has just been deleted.',
      resolve: ({ member }, _args, context) => loadPublisher(context, member.publisher.id),
    }),
  }),
})

builder.mutationField('setPublisherMember', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: SetPublisherMemberPayload,
    description: 'Adds a member to a publisher, or changes their role, for its admins.',
    typeOptions: { description: 'The member and the role.' },
    argOptions: { description: 'Member and role.' },
    input: {
      publisherId: t.input.globalID({ required: true, for: [PublisherRef], description: 'The publisher.', ...formerly('id') }),
      member: t.input.field({ type: UserReference, description: 'The user. Required.', extensions: { isGraphqlOnly: true } }),
      userId: t.input.globalID({ for: [UserRef], description: 'Id of the user.', deprecationReason: replacedBy('member') }),
      email: t.input.string({
        description: 'Exact e-mail address of the user.',
        validate: email.nullish(),
        deprecationReason: replacedBy('member'),
      }),
      role: t.input.field({ type: PublisherRoleEnum, required: true, description: 'The role.' }),
    },
    resolve: async (_root, { input: { publisherId, member, userId, email: address, role } }, context) => ({
      member: await setMember(
        context,
        publisherId.id,
        personOf(member ? { id: member.userId?.id ?? member.uuid, email: member.email } : { id: userId?.id, email: address }),
        role,
      ),
    }),
  }),
)

function personOf({ id, email: address }: { id?: string | null | undefined; email?: string | null | undefined }): PersonKey {
  if (id != null && address == null) return { id }
  if (id == null && address != null) return { email: address }
  throw invalidInput('Name the person by either `userId` or `email`.', 'userId')
}

builder.mutationField('removePublisherMember', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('RemovePublisherMemberPayload', 'The publisher after the removal.', {
      publisher: { type: PublisherRef, description: 'The publisher.' },
    }),
    description: 'Removes a member from a publisher, for its admins. Members can remove themselves, except for the last admin.',
    typeOptions: { description: 'The member to remove.' },
    argOptions: { description: 'The member to remove.' },
    input: {
      publisherId: t.input.globalID({ required: true, for: [PublisherRef], description: 'The publisher.', ...formerly('id') }),
      userId: t.input.globalID({ required: true, for: [UserRef], description: 'Member to remove.' }),
    },
    resolve: async (_root, { input }, context) => ({ publisher: await removeMember(context, input.publisherId.id, input.userId.id) }),
  }),
)
