import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { type AssignableRole, type CreatedUser, createUser, resetPassword, updateUser } from './administer.ts'
import { deleteUser } from '../account-deletion/service.ts'
import { displayName, email, inviteHours, password } from '../users/input.ts'
import { transferOwnership } from './ownership.ts'
import { type PublicUser, UserRef } from '../users/refs.ts'

/** A role that an administrator may give; `editor` is the old name of `member`. */
const AssignableRoleEnum = builder.enumType('AssignableRole', {
  description: 'A role that an administrator may give. Ownership is transferred instead.',
  values: {
    VIEWER: { value: 'viewer', description: 'Browse, search and download.' },
    MEMBER: { value: 'member', description: 'Also publish, and manage own packages.' },
    ADMIN: { value: 'admin', description: 'Also administer users, packages and the server.' },
    EDITOR: { value: 'editor', description: 'Old name of MEMBER.', deprecationReason: 'Use MEMBER.' },
  },
})

const roleOf = (role: AssignableRole | 'editor' | null | undefined): AssignableRole | undefined =>
  role === 'editor' ? 'member' : (role ?? undefined)

const UserCreationMode = builder.enumType('UserCreationMode', {
  description: 'How a new person gets in.',
  values: {
    PASSWORD: { value: 'password', description: 'With a one-time password that the answer shows.' },
    INVITE: { value: 'invite', description: 'With an invitation whose address the answer shows.' },
  },
})

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'The account to make.',
  fields: (t) => ({
    email: t.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
    displayName: t.string({ required: true, description: 'Name for people to read.', validate: displayName }),
    role: t.field({ type: AssignableRoleEnum, description: 'Role; VIEWER when left out.' }),
    mode: t.field({ type: UserCreationMode, description: 'How the person gets in; PASSWORD when left out.' }),
    expiresInHours: t.int({ description: 'Life of the invitation, 1 to 720 hours; 168 when left out.', validate: inviteHours }),
  }),
})

const CreateUserPayload = builder.objectRef<CreatedUser>('CreateUserPayload').implement({
  description: 'A new account, and what to hand to its owner. Nothing is sent by e-mail.',
  fields: (t) => ({
    user: t.expose('user', { type: UserRef, description: 'The account.' }),
    mode: t.field({ type: UserCreationMode, description: 'How the person gets in.', resolve: ({ mode }) => mode }),
    generatedPassword: t.exposeString('generatedPassword', { nullable: true, description: 'The one-time password, shown this once.' }),
    inviteUrl: t.exposeString('inviteUrl', { nullable: true, description: 'Address of the invitation, shown this once.' }),
    inviteExpiresInHours: t.exposeInt('inviteExpiresInHours', { nullable: true, description: 'Life of the invitation in hours.' }),
  }),
})

builder.mutationField('createUser', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: CreateUserPayload,
    description: 'Makes an account for somebody.',
    args: { input: t.arg({ type: CreateUserInput, required: true, description: 'The account.' }) },
    resolve: (_root, { input }, context) => {
      const { email, displayName, role, mode, expiresInHours } = input
      return createUser(context, {
        email,
        displayName,
        role: roleOf(role) ?? 'viewer',
        mode: mode ?? 'password',
        expiresInHours: expiresInHours ?? 168,
      })
    },
  }),
)

const UserPayload = builder.objectRef<{ user: PublicUser }>('UserPayload').implement({
  description: 'An account as it is now.',
  fields: (t) => ({ user: t.expose('user', { type: UserRef, description: 'The account.' }) }),
})

const UpdateUserInput = builder.inputType('UpdateUserInput', {
  description: 'What to change of an account; what is left out stays.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [UserRef], description: 'Whose account.' }),
    role: t.field({ type: AssignableRoleEnum, description: 'New role.' }),
    displayName: t.string({ description: 'New name.', validate: displayName.nullish() }),
    isActive: t.boolean({ description: 'False disables the account: no login, no sessions, no tokens.' }),
  }),
})

builder.mutationField('updateUser', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: UserPayload,
    description: "Changes somebody's account. The owner, and one's own role and activity, are out of reach.",
    args: { input: t.arg({ type: UpdateUserInput, required: true, description: 'What to change.' }) },
    resolve: async (_root, { input: { id, role, ...rest } }, context) => ({
      user: await updateUser(context, id.id, { ...rest, role: roleOf(role) }),
    }),
  }),
)

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  description: 'The account to delete.',
  fields: (t) => ({ id: t.globalID({ required: true, for: [UserRef], description: 'Whose account.' }) }),
})

builder.mutationField('deleteUser', (t) =>
  t.withAuth({ scope: 'admin' }).boolean({
    description: "Deletes somebody's account; what they published stays. Always true.",
    args: { input: t.arg({ type: DeleteUserInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input }, context) => {
      await deleteUser(context, input.id.id)
      return true
    },
  }),
)

const ResetPasswordInput = builder.inputType('ResetPasswordInput', {
  description: 'Whose password, and which.',
  fields: (t) => ({
    id: t.globalID({ required: true, for: [UserRef], description: 'Whose account.' }),
    password: t.string({ description: 'The new password; one is made up when left out.', validate: password.nullish() }),
  }),
})

const ResetPasswordPayload = builder.objectRef<{ user: PublicUser; generatedPassword: string | null }>('ResetPasswordPayload').implement({
  description: 'An account whose password must be changed at the next login.',
  fields: (t) => ({
    user: t.expose('user', { type: UserRef, description: 'The account.' }),
    generatedPassword: t.exposeString('generatedPassword', {
      nullable: true,
      description: 'The made-up password, shown this once; null when you gave one.',
    }),
  }),
})

builder.mutationField('resetPassword', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: ResetPasswordPayload,
    description: 'Gives somebody a new password and ends their sessions; they must choose another at the next login.',
    args: { input: t.arg({ type: ResetPasswordInput, required: true, description: 'Whose, and which.' }) },
    resolve: (_root, { input }, context) => resetPassword(context, input.id.id, input.password),
  }),
)

const TransferOwnershipInput = builder.inputType('TransferOwnershipInput', {
  description: 'Who shall own the server.',
  fields: (t) => ({
    email: t.string({
      required: true,
      description: 'E-mail address of an active administrator.',
      validate: z.string().max(254, 'must be at most 254 characters long'),
    }),
  }),
})

const TransferOwnershipPayload = builder.objectRef<{ owner: PublicUser; previousOwner: PublicUser }>('TransferOwnershipPayload').implement({
  description: 'The new owner and the old one.',
  fields: (t) => ({
    owner: t.expose('owner', { type: UserRef, description: 'The owner from now on.' }),
    previousOwner: t.expose('previousOwner', { type: UserRef, description: 'The owner so far, an administrator from now on.' }),
  }),
})

builder.mutationField('transferOwnership', (t) =>
  t.withAuth({ owner: true }).field({
    type: TransferOwnershipPayload,
    description: 'Hands the server to another administrator; you become an administrator.',
    args: { input: t.arg({ type: TransferOwnershipInput, required: true, description: 'To whom.' }) },
    resolve: (_root, { input }, context) => transferOwnership(context, input.email),
  }),
)
