import { notFound } from '../../errors.ts'
import { ok, route } from '../../platform/rest/route.ts'
import { avatarBinaries } from './avatar-binary.ts'
import { ofViewer, userFields } from '../users/refs.ts'

const user = `user { ${userFields} }`
const ofUser = { ids: { id: 'User' }, names: { id: 'userId' } }

export const userRoutes = [
  route('GET /api/auth/me', `{ viewer { ${userFields} } }`, { summary: 'The current user.', answer: 'viewer', ...ofViewer }),
  route('POST /api/auth/signup', 'mutation ($input: SignUpInput!) { signUp(input: $input) { email } }', {
    anyCredential: true,
    summary: 'Creates an account, if sign-up is enabled.',
    status: 202,
    answer: ok,
  }),
  route('POST /api/auth/change-password', 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { user { uuid } } }', {
    summary: 'Changes your password and ends all your sessions.',
    answer: ok,
    errorStatuses: [429],
  }),
  route('PATCH /api/auth/profile', `mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { ${user} } }`, {
    summary: 'Changes your name.',
    answer: 'updateProfile.user',
  }),
  ...avatarBinaries,
  route('DELETE /api/auth/avatar', `mutation { removeAvatar { ${user} } }`, {
    summary: 'Removes your picture.',
    answer: 'removeAvatar.user',
  }),
  route(
    'GET /api/admin/users',
    `query ($email: String, $offset: Int) { users(first: 50, query: $email, searchIn: EMAIL, offset: $offset) { nodes { ${userFields} } totalCount } }`,
    { summary: 'The users of this server, newest first.', names: { email: 'query' }, answer: { page: 'users', of: 'users' } },
  ),
  route('GET /api/admin/users/:id', `query ($id: ID!) { user(by: { uuid: $id }) { ${userFields} } }`, {
    summary: 'A user.',
    answer: 'user',
    required: { user: () => notFound('There is no user with this id.') },
  }),
  route(
    'POST /api/admin/users',
    `mutation ($input: CreateUserInput!) {
      createUser(input: $input) {
        user @flatten { ${userFields} } mode generatedPassword @omitNull inviteUrl @omitNull inviteExpiresInHours @omitNull
      }
    }`,
    { summary: 'Creates an account, with a one-time password or an invitation.', status: 201, answer: 'createUser' },
  ),
  route('PUT /api/admin/users/:id', `mutation ($input: UpdateUserInput!) { updateUser(input: $input) { ${user} } }`, {
    summary: "Changes a user's role, name or active state.",
    ...ofUser,
    answer: 'updateUser.user',
  }),
  route('DELETE /api/admin/users/:id', 'mutation ($input: DeleteUserInput!) { deleteUser(input: $input) { deletedUserId } }', {
    summary: "Deletes a user's account.",
    ...ofUser,
    answer: ok,
  }),
  route(
    'POST /api/admin/users/:id/reset-password',
    `mutation ($input: ResetPasswordInput!) {
      resetPassword(input: $input) { user @flatten { userId: uuid isActive mustChangePassword } generatedPassword @omitNull }
    }`,
    {
      summary: "Resets a user's password and ends their sessions. An inactive account stays inactive.",
      ...ofUser,
      answer: 'resetPassword',
    },
  ),
  route(
    'POST /api/admin/transfer-ownership',
    `mutation ($input: TransferOwnershipInput!) { transferOwnership(input: $input) { owner { ${userFields} } } }`,
    { summary: 'Transfers the ownership to an administrator.', answer: 'transferOwnership.owner', errorStatuses: [404, 429] },
  ),
]
