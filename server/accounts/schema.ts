import { builder } from '../graphql/builder.ts'
import { changePassword, signUp, updateProfile } from './service.ts'
import { removeAvatar } from './avatar.ts'
import { displayName, email, password } from '../users/input.ts'
import { type PublicUser, UserRef } from '../users/refs.ts'

const SignUpInput = builder.inputType('SignUpInput', {
  description: 'The account to make.',
  fields: (t) => ({
    email: t.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
    displayName: t.string({ required: true, description: 'Name for people to read.', validate: displayName }),
    password: t.string({ required: true, description: 'Password.', validate: password }),
  }),
})

builder.mutationField('signUp', (t) =>
  t.boolean({
    description: 'Makes an account with the role MEMBER, where the server allows it. Always true, also when the address has an account.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true },
    args: { input: t.arg({ type: SignUpInput, required: true, description: 'The account.' }) },
    resolve: async (_root, { input }, context) => {
      await signUp(context, input)
      return true
    },
  }),
)

const ChangePasswordInput = builder.inputType('ChangePasswordInput', {
  description: 'The old and the new password.',
  fields: (t) => ({
    currentPassword: t.string({ required: true, description: 'The password so far.', validate: password }),
    newPassword: t.string({ required: true, description: 'The password from now on.', validate: password }),
  }),
})

builder.mutationField('changePassword', (t) =>
  t.withAuth({ identity: true }).boolean({
    // A session whose password is due may do this; a token must be allowed to write.
    authScopes: (_root, _args, { credential }) => (credential?.kind === 'session' ? true : { ownAccount: true }),
    skipTypeScopes: true,
    description: 'Changes your password and ends all your sessions, this one too. Tokens stay. Always true.',
    args: { input: t.arg({ type: ChangePasswordInput, required: true, description: 'Old and new.' }) },
    resolve: async (_root, { input }, context) => {
      await changePassword(context, input)
      return true
    },
  }),
)

const UpdateProfileInput = builder.inputType('UpdateProfileInput', {
  description: 'What to change of your account.',
  fields: (t) => ({ displayName: t.string({ required: true, description: 'Name for people to read.', validate: displayName }) }),
})

const UpdateProfilePayload = builder.objectRef<{ user: PublicUser }>('UpdateProfilePayload').implement({
  description: 'The account as it is now.',
  fields: (t) => ({ user: t.expose('user', { type: UserRef, description: 'You.' }) }),
})

builder.mutationField('updateProfile', (t) =>
  t.withAuth({ ownAccount: true }).field({
    type: UpdateProfilePayload,
    description: 'Changes your own account.',
    args: { input: t.arg({ type: UpdateProfileInput, required: true, description: 'What to change.' }) },
    resolve: async (_root, { input }, context) => ({ user: await updateProfile(context, input) }),
  }),
)

builder.mutationField('removeAvatar', (t) =>
  t.withAuth({ ownAccount: true }).field({
    type: UpdateProfilePayload,
    description: 'Takes your picture away. Pictures are set over REST: POST /api/auth/avatar.',
    resolve: async (_root, _args, context) => ({ user: await removeAvatar(context) }),
  }),
)
