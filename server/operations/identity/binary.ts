import { z } from 'zod'
import { type Context, guardChange, type SignedInContext } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { acceptFiles } from '../../platform/http/bodies.ts'
import { basePath } from '../../platform/http/public-url.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { readPicture } from '../../platform/pictures/upload.ts'
import { binary } from '../../platform/rest/route.ts'
import { logoPath, readIdentity } from '../../platform/settings/identity.ts'
import { findLogo, setLogo } from './service.ts'

const uploaded = z.object({ logoUrl: z.string() })

/** Uploads and downloads of the logo. */
export const logoBinaries = [
  binary('POST /api/admin/logo', {
    access: 'admin',
    summary: 'Sets the logo of the registry: the form field `file`, PNG, JPEG or WebP, up to 5 MiB and 25 megapixels.',
    handler: receive,
    accept: acceptFiles,
    consumes: ['multipart/form-data'],
    produces: { 200: { description: 'The URL of the logo.', type: 'application/json', schema: uploaded } },
  }),
  binary('GET /api/logo', {
    access: 'open',
    anyCredential: true,
    beforeSetup: true,
    summary: 'The logo of the registry, 512×512 pixels.',
    handler: send,
    query: { v: 'Version of the logo, as in `logoUrl`. With it, the response may be cached forever.' },
    produces: { 200: { description: 'The logo.', type: 'image/png' }, 304: { description: 'The cached logo is current.' } },
    errorStatuses: [404],
  }),
]

async function receive(context: Context): Promise<unknown> {
  const { reply, request, config, database } = context
  guardChange(context)
  await setLogo(context as SignedInContext, await readPicture(request))
  const logoUrl = `${basePath(config.SERVER_URL)}${logoPath(await readIdentity(database.reads)) ?? ''}`
  return reply.type('application/json; charset=utf-8').send(JSON.stringify({ logoUrl } satisfies z.infer<typeof uploaded>))
}

async function send({ request, reply, database }: Context): Promise<unknown> {
  const logo = await findLogo(database.reads)
  if (!logo) throw notFound('This registry has no logo of its own.')
  const etag = `"${logo.sha256}"`
  const isNamed = (request.query as { v?: unknown }).v === logo.sha256.slice(0, 16)
  reply.header('etag', etag).header('cache-control', isNamed ? 'public, immutable, max-age=31536000' : 'public, no-cache')
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  return reply.type('image/png').header('content-length', logo.png.length).send(logo.png)
}
