import { builder } from '../../platform/graphql/builder.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { changePassword, requireSignUp, signUp, updateProfile } from './service.ts'
import { removeAvatar } from './avatar.ts'
import { displayName, email } from '../users/input.ts'
import { UserRef } from '../users/refs.ts'

builder.mutationField('signUp', (t) =>
  t.fieldWithInput({
    type: payload('SignUpPayload', 'The request for an account.', {
      email: { type: 'String', description: 'The e-mail address of the request.' },
    }),
    description: 'Creates an account with the role MEMBER, if sign-up is enabled. The result is the same if the e-mail address is taken.',
    skipTypeScopes: true,
    extensions: { ownOrigin: true, admit: requireSignUp, limit: 'signup', formerResult: true },
    typeOptions: { description: 'The account to create.' },
    argOptions: { description: 'The account.' },
    input: {
      email: t.input.string({ required: true, description: 'E-mail address to sign in with.', validate: email }),
      displayName: t.input.string({ required: true, description: 'Display name.', validate: displayName }),
      password: t.input.string({ required: true, description: 'Password.' }),
    },
    resolve: (_root, { input }, context) => done(signUp(context, input), { email: input.email }),
  }),
)

builder.mutationField('changePassword', (t) =>
  // Allowed for a session whose password must be changed. A token needs the scope write.
  t.withAuth({ ownAccount: true, session: true }).fieldWithInput({
    type: payload('ChangePasswordPayload', 'An account whose password was changed.', { user: { type: UserRef, description: 'You.' } }),
    extensions: { formerResult: true },
    skipTypeScopes: true,
    description: 'Changes your password and ends all your sessions, including this one. Tokens remain valid.',
    typeOptions: { description: 'The old and the new password.' },
    argOptions: { description: 'The old and the new password.' },
    input: {
      currentPassword: t.input.string({ required: true, description: 'The current password.' }),
      newPassword: t.input.string({ required: true, description: 'The new password.' }),
    },
    resolve: (_root, { input }, context) => done(changePassword(context, input), { user: context.viewer }),
  }),
)

const UpdateProfilePayload = payload('UpdateProfilePayload', 'The updated account.', { user: { type: UserRef, description: 'You.' } })

builder.mutationField('updateProfile', (t) =>
  t.withAuth({ ownAccount: true }).fieldWithInput({
    type: UpdateProfilePayload,
    description: 'Changes your own account.',
    typeOptions: { description: 'Changes to your account.' },
    argOptions: { description: 'The changes.' },
    input: { displayName: t.input.string({ required: true, description: 'Display name.', validate: displayName }) },
    resolve: async (_root, { input }, context) => ({ user: await updateProfile(context, input) }),
  }),
)

builder.mutationField('removeAvatar', (t) =>
  t.withAuth({ ownAccount: true }).field({
    type: UpdateProfilePayload,
    description: 'Removes your picture. To upload one, use REST: POST /api/auth/avatar.',
    resolve: async (_root, _args, context) => ({ user: await removeAvatar(context) }),
  }),
)
