import { builder } from '../graphql/builder.ts'
import { done, payload } from '../graphql/payload.ts'
import { changePassword, requireSignUp, signUp, updateProfile } from './service.ts'
import { removeAvatar } from './avatar.ts'
import { displayName, email } from '../users/input.ts'
import { UserRef } from '../users/refs.ts'

builder.mutationField('signUp', (t) =>
  t.fieldWithInput({
    type: 'Boolean',
    description: 'Makes an account with the role MEMBER, where the server allows it. Always true, also when the address has an account.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, admit: requireSignUp, limit: 'signup' },
    typeOptions: { description: 'The account to make.' },
    argOptions: { description: 'The account.' },
    input: {
      email: t.input.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
      displayName: t.input.string({ required: true, description: 'Name for people to read.', validate: displayName }),
      password: t.input.string({ required: true, description: 'Password.' }),
    },
    resolve: (_root, { input }, context) => done(signUp(context, input)),
  }),
)

builder.mutationField('changePassword', (t) =>
  // A session whose password is due may do this; a token must be allowed to write.
  t.withAuth({ ownAccount: true, session: true }).fieldWithInput({
    type: 'Boolean',
    skipTypeScopes: true,
    description: 'Changes your password and ends all your sessions, this one too. Tokens stay. Always true.',
    typeOptions: { description: 'The old and the new password.' },
    argOptions: { description: 'Old and new.' },
    input: {
      currentPassword: t.input.string({ required: true, description: 'The current password.' }),
      newPassword: t.input.string({ required: true, description: 'The new password.' }),
    },
    resolve: (_root, { input }, context) => done(changePassword(context, input)),
  }),
)

const UpdateProfilePayload = payload('UpdateProfilePayload', 'The account as it is now.', { user: { type: UserRef, description: 'You.' } })

builder.mutationField('updateProfile', (t) =>
  t.withAuth({ ownAccount: true }).fieldWithInput({
    type: UpdateProfilePayload,
    description: 'Changes your own account.',
    typeOptions: { description: 'What to change of your account.' },
    argOptions: { description: 'What to change.' },
    input: { displayName: t.input.string({ required: true, description: 'Name for people to read.', validate: displayName }) },
    resolve: async (_root, { input }, context) => ({ user: await updateProfile(context, input) }),
  }),
)

builder.mutationField('removeAvatar', (t) =>
  t.withAuth({ ownAccount: true }).field({
    type: UpdateProfilePayload,
    description: 'Removes your picture. Upload one over REST: POST /api/auth/avatar.',
    resolve: async (_root, _args, context) => ({ user: await removeAvatar(context) }),
  }),
)
