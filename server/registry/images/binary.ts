import { createHash } from 'node:crypto'
import { invalidInput, notFound } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { cacheControlOf } from '../../platform/access/audience.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { equalSecrets, validKeys } from '../../platform/http/keys.ts'
import { binary } from '../../platform/rest/route.ts'
import { imageTypes } from '../files/content.ts'
import { requestedArchive, restrictContent } from '../files/send.ts'
import { maxUrl, signatureOf } from '../markdown/images.ts'
import { remoteImage } from './remote.ts'
import type { Image } from './store.ts'
import { thumbnailOf } from './thumbnails.ts'

/** Routes of the images of other servers in documents, and of thumbnails. */
export const imageBinaries = [
  binary('GET /images', {
    access: 'open',
    anyCredential: true,
    summary: 'An image of another server that a document shows. The URL is part of the rendered document.',
    handler: sendImage,
    query: { url: 'URL of the image.', signature: 'Signature of the URL.' },
    produces: { 200: { description: 'The image.', type: imageTypes }, 304: { description: "The client's copy is current." } },
    errorStatuses: [404, 429],
  }),
  binary('GET /thumbnails/:pkg/:version/*', {
    access: 'browse',
    summary: 'A PNG, JPEG, GIF or WebP image of a version as WebP, at most 480 pixels wide and high. SVGs are sanitized.',
    handler: sendThumbnail,
    query: { size: '`small` for at most 240 pixels.' },
    produces: {
      200: { description: 'The thumbnail.', type: ['image/webp', 'image/svg+xml'] },
      304: { description: "The client's copy is current." },
    },
  }),
]

async function sendThumbnail(context: Context): Promise<unknown> {
  const { request, reply } = context
  const archive = await requestedArchive(context)
  const path = (request.params as { '*': string })['*']
  const { size = 'usual' } = request.query as { size?: unknown }
  if (size !== 'usual' && size !== 'small') throw invalidInput('size: write small, or leave it out.', 'size')
  const image = await thumbnailOf(context, archive, path, size)
  if (!image) throw notFound(`There is no image ${path} in ${archive.name} ${archive.version}.`)
  restrictContent(reply)
  reply.header('vary', 'authorization, cookie')
  reply.header('cache-control', cacheControlOf(context, 'private, immutable, max-age=31536000'))
  return sendContent(context, image)
}

async function sendImage(context: Context): Promise<unknown> {
  const { request, reply, config } = context
  const { url, signature } = request.query as Record<string, unknown>
  restrictContent(reply)
  // Documentation pages, which show such images, have an origin of their own. Also for errors: browsers report their status only with this header.
  reply.header('cross-origin-resource-policy', 'cross-origin')
  // Only documents have signed URLs, and the setting may have changed since.
  if (config.README_IMAGES !== 'proxy' || !isSigned(context, url, signature)) throw notFound('There is no such image.')
  const image = await remoteImage(context, url)
  if (!image) throw notFound('The image could not be fetched.')
  reply.header('cache-control', 'public, max-age=3600')
  return sendContent(context, image)
}

function sendContent({ request, reply }: Context, image: Image): unknown {
  const etag = `"${createHash('sha256').update(image.content).digest('base64url')}"`
  reply.header('etag', etag)
  if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
  reply.type(image.mediaType).header('content-length', image.content.length)
  return request.method === 'HEAD' ? sendHeadersOnly(request, reply) : reply.send(image.content)
}

function isSigned({ keys }: Context, url: unknown, signature: unknown): url is string {
  if (typeof url !== 'string' || typeof signature !== 'string' || url.length > maxUrl) return false
  return validKeys(keys).some(({ image }) => equalSecrets(signature, signatureOf(image, url)))
}
