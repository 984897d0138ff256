import { builder } from '../../platform/graphql/builder.ts'
import { formerly, replacedBy } from '../../platform/graphql/former-schema.ts'
import { connectionOf, payload, wordEnum } from '../../platform/graphql/payload.ts'
import { connectionOrders } from '../../platform/graphql/types.ts'
import { type Exported, pagesOf } from '../../platform/rest/export.ts'
import { relyingParty } from '../factors/challenges.ts'
import { createUser, resetPassword, updateUser, transferOwnership } from './administer.ts'
import { displayName, email, inviteHours, emailKey } from '../users/input.ts'
import { accountStatus, AssignableRoleEnum, UserKindEnum, UserRef, RoleEnum, UserStatus, UserReference } from '../users/refs.ts'
import { loadUser } from '../users/service.ts'
import { notNegative, partOfText } from '../../platform/graphql/connections.ts'
import { idOf } from '../../platform/db/base.ts'
import { User } from '../users/entity.ts'
import { listUsers, type UserFilter, type UserOrder } from './list.ts'

const UserCreationMode = builder.enumType('UserCreationMode', {
  description: 'How a new user gets access.',
  values: {
    PASSWORD: { value: 'password', description: 'With a one-time password, which the response contains.' },
    INVITE: { value: 'invite', description: 'With an invitation link, which the response contains.' },
  },
})

const optionalSecret = { extensions: { secret: true }, type: 'String', nullable: true } as const

builder.mutationField('createUser', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('CreateUserPayload', 'A new account, with the password or invitation to pass on. Nothing is sent by e-mail.', {
      user: { type: UserRef, description: 'The account.' },
      mode: { type: UserCreationMode, description: 'How the user gets access.' },
      generatedPassword: { ...optionalSecret, description: 'The one-time password, shown only once.' },
      inviteUrl: { ...optionalSecret, description: 'URL of the invitation, shown only once.' },
      inviteExpiresInHours: { type: 'Int', nullable: true, description: 'Validity of the invitation in hours.' },
    }),
    description: 'Creates an account for a user.',
    typeOptions: { description: 'The account to create.' },
    argOptions: { description: 'The account.' },
    input: {
      email: t.input.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
      displayName: t.input.string({ required: true, description: 'Display name.', validate: displayName }),
      role: t.input.field({ type: AssignableRoleEnum, description: 'Role. Default: VIEWER.' }),
      mode: t.input.field({ type: UserCreationMode, description: 'How the user gets access. Default: PASSWORD.' }),
      expiresInHours: t.input.int({ description: 'Validity of the invitation, 1 to 720 hours. Default: 168.', validate: inviteHours }),
    },
    resolve: (_root, { input: { role, mode, expiresInHours, ...input } }, context) =>
      createUser(context, { ...input, role: role ?? 'viewer', mode: mode ?? 'password', expiresInHours: expiresInHours ?? 168 }),
  }),
)

builder.mutationField('updateUser', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UserPayload', 'The updated account.', { user: { type: UserRef, description: 'The account.' } }),
    description: "Changes a user's account, for administrators. The owner cannot be changed, nor your own role and active state.",
    typeOptions: { description: 'Changes to an account. Omitted fields stay unchanged.' },
    argOptions: { description: 'The changes.' },
    input: {
      userId: t.input.globalID({ required: true, for: [UserRef], description: 'The account.', ...formerly('id') }),
      role: t.input.field({ type: AssignableRoleEnum, description: 'New role.' }),
      displayName: t.input.string({ description: 'New name.', validate: displayName.nullish() }),
      isActive: t.input.boolean({ description: 'False disables the account: no sign-in, no sessions, no tokens.' }),
    },
    resolve: async (_root, { input: { userId, ...changes } }, context) => ({ user: await updateUser(context, userId.id, changes) }),
  }),
)

builder.mutationField('resetPassword', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('ResetPasswordPayload', 'An account whose password must be changed at the next sign-in.', {
      user: { type: UserRef, description: 'The account.' },
      generatedPassword: { ...optionalSecret, description: 'The generated password, shown only once; null if you provided one.' },
    }),
    description:
      "Resets a user's password and ends their sessions. The user must choose another password at the next sign-in. An inactive account stays inactive.",
    typeOptions: { description: 'The account and the new password.' },
    argOptions: { description: 'The account and the new password.' },
    input: {
      userId: t.input.globalID({ required: true, for: [UserRef], description: 'The account.', ...formerly('id') }),
      password: t.input.string({ description: 'The new password. Generated if omitted.' }),
    },
    resolve: (_root, { input }, context) => resetPassword(context, input.userId.id, input.password),
  }),
)

builder.mutationField('transferOwnership', (t) =>
  t.withAuth({ owner: true }).fieldWithInput({
    type: payload('TransferOwnershipPayload', 'The new and the previous owner.', {
      owner: { type: UserRef, description: 'The new owner.' },
      previousOwner: { type: UserRef, description: 'The previous owner, now an administrator.' },
    }),
    description: 'Transfers the ownership of the server to an administrator. You become an administrator.',
    typeOptions: { description: 'The new owner of the server.' },
    argOptions: { description: 'The new owner.' },
    input: {
      email: t.input.string({ required: true, description: 'E-mail address of an active administrator.', extensions: { maxLength: 254 } }),
    },
    resolve: (_root, { input }, context) => transferOwnership(context, input.email),
  }),
)

const userOrders = connectionOrders<UserOrder>('UserOrder', 'How to sort users.', 'created', {
  created: { description: 'By time of creation.', direction: 'desc' },
  email: { description: 'By e-mail address.', direction: 'asc' },
})

const UserSearchField = wordEnum('UserSearchField', 'A field of users that can be searched.', {
  email: 'The e-mail address.',
  name: 'The name.',
})

builder.queryField('users', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: UserRef,
      description: 'The users of this server, for administrators.',
      args: {
        email: t.arg.string({ description: 'Part of the e-mail address, case-insensitive.', ...partOfText }),
        query: t.arg.string({ description: 'Part of the e-mail address or name, case-insensitive.', ...partOfText }),
        searchIn: t.arg({ type: UserSearchField, description: 'The only field that `query` searches. Default: both.' }),
        kinds: t.arg({ type: [UserKindEnum], defaultValue: ['person'], description: 'Kinds of accounts to list.' }),
        role: t.arg({ type: RoleEnum, description: 'Only users with this role.' }),
        status: t.arg({ type: UserStatus, description: 'Only accounts in this state.' }),
        hasSecondFactor: t.arg.boolean({
          description: 'True: only users with an authenticator app or a passkey that is accepted; false: only users without.',
        }),
        idleSince: t.arg({
          type: 'DateTime',
          description: 'Only users who have not signed in since this time. For accounts that never signed in, the time of creation counts.',
        }),
        ...userOrders.args,
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, args, { em, config }) =>
        listUsers(em, { ...args, passkeyDomain: relyingParty(config)?.id }, userOrders.sortOf(args), args),
    },
    connectionOf(UserRef),
  ),
)

builder.queryField('user', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: UserRef,
    nullable: true,
    description: 'A user, for administrators.',
    args: {
      by: t.arg({ type: UserReference, description: 'The user. Required.' }),
      email: t.arg.string({ description: 'The e-mail address, case-insensitive.', deprecationReason: replacedBy('by') }),
      uuid: t.arg.id({ description: 'The plain identifier, as REST shows it.', deprecationReason: replacedBy('by') }),
    },
    resolve: (_root, { by, ...former }, context) => {
      const { id: known } = by?.userId ?? {}
      const { uuid, email } = by ?? former
      if (known == null && uuid == null)
        return context.em.findOne(User, { emailKey: emailKey(email ?? '') }, { populate: ['passwordHash'] })
      const id = known ?? idOf(uuid ?? '')
      return id ? loadUser(context, id) : null
    },
  }),
)

/** The filtered users as a file. */
export const userList: Exported<User> = {
  name: 'people',
  columns: {
    userId: ({ id }) => id,
    email: ({ email }) => email,
    displayName: ({ displayName }) => displayName,
    role: ({ role }) => role,
    status: accountStatus,
    createdAt: ({ createdAt }) => createdAt,
    lastLoginAt: ({ lastLoginAt }) => lastLoginAt,
  },
  batches: ({ database }, { q, ...given }) => {
    const filter = { ...given, query: q } as UserFilter & Parameters<typeof userOrders.sortOf>[0]
    // A new entity manager for each batch, so that no users accumulate in memory.
    return pagesOf((page) => listUsers(database.fork(), filter, userOrders.sortOf(filter), page))
  },
}
