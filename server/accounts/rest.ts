import { notFound } from '../errors.ts'
import { type Data, ok, route } from '../rest/route.ts'
import { avatarBinaries } from './avatar-binary.ts'
import { restUser, userFields } from '../users/refs.ts'

const user = `user { ${userFields} }`
const userOf = (name: string) => ({ from: (data: Data) => restUser((data[name] as Data).user) })
const ids = { id: 'User' }

export const userRoutes = [
  route('GET /api/auth/me', `{ me { ${userFields} } }`, { summary: 'The current user.', answer: { from: ({ me }) => restUser(me) } }),
  route('POST /api/auth/signup', 'mutation ($input: SignUpInput!) { signUp(input: $input) }', {
    anyCredential: true,
    summary: 'Makes an account, where the server allows it.',
    status: 202,
    answer: ok,
  }),
  route('POST /api/auth/change-password', 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) }', {
    summary: 'Changes your password and ends all your sessions.',
    answer: ok,
  }),
  route('PATCH /api/auth/profile', `mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { ${user} } }`, {
    summary: 'Changes your name.',
    answer: userOf('updateProfile'),
  }),
  ...avatarBinaries,
  route('DELETE /api/auth/avatar', `mutation { removeAvatar { ${user} } }`, {
    summary: 'Removes your picture.',
    answer: userOf('removeAvatar'),
  }),
  route(
    'GET /api/admin/users',
    `query ($email: String, $offset: Int) { users(first: 50, email: $email, offset: $offset) { nodes { ${userFields} } totalCount } }`,
    {
      summary: 'The people of this server, newest first.',
      answer: { page: 'users', of: 'users', each: restUser },
    },
  ),
  route('GET /api/admin/users/:id', `query ($id: ID!) { user(uuid: $id) { ${userFields} } }`, {
    summary: 'A user.',
    answer: {
      from: ({ user }) => {
        if (!user) throw notFound('There is no user with this id.')
        return restUser(user)
      },
    },
  }),
  route(
    'POST /api/admin/users',
    `mutation ($input: CreateUserInput!) { createUser(input: $input) { ${user} mode generatedPassword inviteUrl inviteExpiresInHours } }`,
    {
      summary: 'Makes an account, with a one-time password or an invitation.',
      status: 201,
      answer: {
        from: ({ createUser }) => {
          const { user, mode, ...handover } = createUser as Data & { mode: string }
          return { ...(restUser(user) as Data), mode: mode.toLowerCase(), ...withoutNulls(handover) }
        },
      },
    },
  ),
  route('PUT /api/admin/users/:id', `mutation ($input: UpdateUserInput!) { updateUser(input: $input) { ${user} } }`, {
    summary: "Changes somebody's role, name or whether they may sign in.",
    ids,
    answer: userOf('updateUser'),
  }),
  route('DELETE /api/admin/users/:id', 'mutation ($input: DeleteUserInput!) { deleteUser(input: $input) }', {
    summary: "Deletes somebody's account.",
    ids,
    answer: ok,
  }),
  route(
    'POST /api/admin/users/:id/reset-password',
    'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { userId: uuid mustChangePassword } generatedPassword } }',
    {
      summary: "Resets a user's password and ends their sessions.",
      ids,
      answer: {
        from: ({ resetPassword }) => {
          const { user, generatedPassword } = resetPassword as { user: Data; generatedPassword: string | null }
          return { ...user, ...withoutNulls({ generatedPassword }) }
        },
      },
    },
  ),
  route(
    'POST /api/admin/transfer-ownership',
    `mutation ($input: TransferOwnershipInput!) { transferOwnership(input: $input) { owner { ${userFields} } } }`,
    {
      summary: 'Makes another administrator the owner.',
      answer: { from: ({ transferOwnership }) => restUser((transferOwnership as Data).owner) },
    },
  ),
]

const withoutNulls = (data: Data): Data => Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null))
