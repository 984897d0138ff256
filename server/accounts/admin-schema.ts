import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { createUser, resetPassword, updateUser } from './administer.ts'
import { displayName, email, inviteHours } from '../users/input.ts'
import { transferOwnership } from './ownership.ts'
import { formerMemberRole, UserRef } from '../users/refs.ts'

const AssignableRoleEnum = builder.enumType('AssignableRole', {
  description: 'A role that an administrator may give. Ownership is transferred instead.',
  values: {
    EDITOR: formerMemberRole,
    VIEWER: { value: 'viewer', description: 'Browse, search and download.' },
    MEMBER: { value: 'member', description: 'Also publish, and manage own packages.' },
    ADMIN: { value: 'admin', description: 'Also administer users, packages and the server.' },
  },
})

const UserCreationMode = builder.enumType('UserCreationMode', {
  description: 'How a new person gets in.',
  values: {
    PASSWORD: { value: 'password', description: 'With a one-time password that the answer shows.' },
    INVITE: { value: 'invite', description: 'With an invitation whose address the answer shows.' },
  },
})

builder.mutationField('createUser', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('CreateUserPayload', 'A new account, and the password or invitation to pass on. Nothing is sent by e-mail.', {
      user: { type: UserRef, description: 'The account.' },
      mode: { type: UserCreationMode, description: 'How the person gets in.' },
      generatedPassword: {
        extensions: { secret: true },
        type: 'String',
        nullable: true,
        description: 'The one-time password, shown only once.',
      },
      inviteUrl: {
        extensions: { secret: true },
        type: 'String',
        nullable: true,
        description: 'URL of the invitation, shown only once.',
      },
      inviteExpiresInHours: { type: 'Int', nullable: true, description: 'Life of the invitation in hours.' },
    }),
    description: 'Makes an account for somebody.',
    typeOptions: { description: 'The account to make.' },
    argOptions: { description: 'The account.' },
    input: {
      email: t.input.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
      displayName: t.input.string({ required: true, description: 'Name for people to read.', validate: displayName }),
      role: t.input.field({ type: AssignableRoleEnum, description: 'Role; VIEWER when left out.' }),
      mode: t.input.field({ type: UserCreationMode, description: 'How the person gets in; PASSWORD when left out.' }),
      expiresInHours: t.input.int({ description: 'Life of the invitation, 1 to 720 hours; 168 when left out.', validate: inviteHours }),
    },
    resolve: (_root, { input }, context) => {
      const { email, displayName, role, mode, expiresInHours } = input
      return createUser(context, {
        email,
        displayName,
        role: role ?? 'viewer',
        mode: mode ?? 'password',
        expiresInHours: expiresInHours ?? 168,
      })
    },
  }),
)

builder.mutationField('updateUser', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UserPayload', 'An account as it is now.', { user: { type: UserRef, description: 'The account.' } }),
    description: "Changes a user's account, for administrators. The owner cannot be changed, nor can your own role and activity.",
    typeOptions: { description: 'What to change of an account; what is left out stays.' },
    argOptions: { description: 'What to change.' },
    input: {
      id: t.input.globalID({ required: true, for: [UserRef], description: 'Whose account.' }),
      role: t.input.field({ type: AssignableRoleEnum, description: 'New role.' }),
      displayName: t.input.string({ description: 'New name.', validate: displayName.nullish() }),
      isActive: t.input.boolean({ description: 'False disables the account: no login, no sessions, no tokens.' }),
    },
    resolve: async (_root, { input: { id, role, ...rest } }, context) => ({
      user: await updateUser(context, id.id, { ...rest, role: role ?? undefined }),
    }),
  }),
)

builder.mutationField('resetPassword', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('ResetPasswordPayload', 'An account whose password must be changed at the next login.', {
      user: { type: UserRef, description: 'The account.' },
      generatedPassword: {
        extensions: { secret: true },
        type: 'String',
        nullable: true,
        description: 'The generated password, shown only once; null when you sent one.',
      },
    }),
    description: "Resets a user's password and ends their sessions; they must choose another password at the next login.",
    typeOptions: { description: 'Whose password, and which.' },
    argOptions: { description: 'Whose, and which.' },
    input: {
      id: t.input.globalID({ required: true, for: [UserRef], description: 'Whose account.' }),
      password: t.input.string({ description: 'The new password; generated when left out.' }),
    },
    resolve: (_root, { input }, context) => resetPassword(context, input.id.id, input.password),
  }),
)

builder.mutationField('transferOwnership', (t) =>
  t.withAuth({ owner: true }).fieldWithInput({
    type: payload('TransferOwnershipPayload', 'The new owner and the old one.', {
      owner: { type: UserRef, description: 'The new owner.' },
      previousOwner: { type: UserRef, description: 'The previous owner, who is an administrator now.' },
    }),
    description: 'Transfers ownership of the server to another administrator; you become an administrator.',
    typeOptions: { description: 'The new owner of the server.' },
    argOptions: { description: 'To whom.' },
    input: {
      email: t.input.string({
        required: true,
        description: 'E-mail address of an active administrator.',
        extensions: { maxLength: 254 },
      }),
    },
    resolve: (_root, { input }, context) => transferOwnership(context, input.email),
  }),
)
