import { type Context, guardChange, type SignedInContext } from '../../platform/access/context.ts'
import { idOf } from '../../platform/db/base.ts'
import { notFound } from '../../errors.ts'
import { acceptFiles } from '../../platform/http/bodies.ts'
import { readPicture } from '../../platform/pictures/upload.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { binary } from '../../platform/rest/route.ts'
import { findAvatar, setAvatar } from './avatar.ts'
import { describeUser, userFields } from '../users/refs.ts'

/** Uploads and downloads of avatars. */
export const avatarBinaries = [
  binary('POST /api/auth/avatar', {
    access: 'ownAccount',
    summary: 'Sets your picture: the form field `file`, PNG, JPEG or WebP, up to 5 MiB and 25 megapixels.',
    handler: receive,
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
    handler: send,
    query: { v: 'Version of the picture, as in `avatarUrl`. With it, the response may be cached forever.' },
    produces: { 200: { description: 'The picture.', type: 'image/png' }, 304: { description: 'The cached picture is current.' } },
  }),
]

async function receive(context: Context): Promise<unknown> {
  const { reply, config } = context
  guardChange(context)
  const user = await setAvatar(context as SignedInContext, await readPicture(context.request))
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(describeUser(user, config)))
}

async function send({ request, reply, database }: Context): Promise<unknown> {
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
