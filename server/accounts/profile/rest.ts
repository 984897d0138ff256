import { notFound } from '../../errors.ts'
import { type Context, guardChange, type SignedInContext } from '../../platform/access/context.ts'
import { idOf } from '../../platform/db/base.ts'
import { acceptFiles } from '../../platform/http/bodies.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { readPicture } from '../../platform/pictures/upload.ts'
import { csv, exportedAs } from '../../platform/rest/export.ts'
import { binary, ok, route } from '../../platform/rest/route.ts'
import { describeUser, ofViewer, userFields } from '../users/refs.ts'
import { userList } from './admin-schema.ts'
import { findAvatar, setAvatar } from './avatar.ts'

const user = `user { ${userFields} }`
const ofUser = { ids: { id: 'User' }, names: { id: 'userId' } }

/** Uploads and downloads of avatars. */
const avatarBinaries = [
  binary('POST /api/auth/avatar', {
    access: 'ownAccount',
    summary: 'Sets your picture: the form field `file`, PNG, JPEG or WebP, up to 5 MiB and 25 megapixels.',
    handler: receiveAvatar,
    accept: acceptFiles,
    consumes: ['multipart/form-data'],
    produces: {
      200: {
        description: 'Your account, with the URL of the picture.',
        type: 'application/json',
        schema: { graphqlType: 'User', fields: userFields },
      },
    },
  }),
  binary('GET /api/users/:userId/avatar', {
    access: 'open',
    anyCredential: true,
    summary: "A user's picture, 512×512 pixels.",
    handler: sendAvatar,
    query: { v: 'Version of the picture, as in `avatarUrl`. With it, the response may be cached forever.' },
    produces: { 200: { description: 'The picture.', type: 'image/png' }, 304: { description: 'The cached picture is current.' } },
  }),
]

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
    `query ($email: String, $q: String, $role: Role, $status: UserStatus, $orderBy: UserOrder, $direction: OrderDirection, $offset: Int) {
      users(first: 50, email: $email, query: $q, role: $role, status: $status, orderBy: $orderBy, direction: $direction, offset: $offset) {
        nodes { ${userFields} } totalCount
      }
    }`,
    {
      summary: 'The users of this server, newest first, 50 per page. With `Accept: text/csv`, all of them as a file.',
      names: { q: 'query' },
      answer: { page: 'users', of: 'users' },
      alternatives: [exportedAs(csv, userList)],
    },
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

async function receiveAvatar(context: Context): Promise<unknown> {
  const { reply, config } = context
  guardChange(context)
  const user = await setAvatar(context as SignedInContext, await readPicture(context.request))
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(describeUser(user, config)))
}

async function sendAvatar({ request, reply, database }: Context): Promise<unknown> {
  const { userId } = request.params as { userId: string }
  const id = idOf(userId)
  const avatar = id ? await findAvatar(database.reads, id) : undefined
  if (!avatar) throw notFound('User not found, or the user has no picture.')
  const etag = `"${avatar.sha256}"`
  const isNamed = (request.query as { v?: unknown }).v === avatar.sha256.slice(0, 16)
  reply.header('etag', etag).header('cache-control', isNamed ? 'public, immutable, max-age=31536000' : 'public, no-cache')
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  return reply.type('image/png').header('content-length', avatar.png.length).send(avatar.png)
}
