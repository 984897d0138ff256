import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { notFound } from '../../errors.ts'
import { db } from '../../platform/db/query.ts'
import { cacheControlOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { binary } from '../../platform/rest/route.ts'
import { imageTypes, maxImageBytes } from './content.ts'
import { isShowable } from './dimensions.ts'
import { imageSettings, resolveRemote } from '../markdown/images.ts'
import { fileInRepository, repositoryOf } from '../markdown/links.ts'
import { storedPubspec } from '../packages/versions/pubspec.ts'
import type { VersionArchive } from './reading/copies.ts'
import { attachment, requestedArchive, restrictContent } from './send.ts'
import { type PackageFile, readArchiveFile, readPart } from './service.ts'
import { maxSvgBytes, safeSvg } from './svg/service.ts'

/** Increment when the same file is sent differently. */
const revision = 3

/** Route of the files of a version. */
export const fileBinaries = [
  binary('GET /raw/:pkg/:version/*', {
    access: 'browse',
    summary: 'A file of a version. Images are recognized by their content, SVGs are sanitized, and all other text is plain text.',
    handler: sendFile,
    query: {
      download: 'With any value, the original file is sent as a download.',
      image:
        "With any value, an image that is not in the archive is looked for in the package's repository, and one above 5 MiB or 50 megapixels is not sent.",
    },
    produces: {
      200: { description: 'The file.', type: ['text/plain', 'application/octet-stream', ...imageTypes] },
      302: { description: 'The image is at `Location`.' },
      304: { description: "The client's copy is current." },
    },
  }),
]

async function sendFile(context: Context): Promise<unknown> {
  const { request, reply } = context
  const archive = await requestedArchive(context)
  const path = (request.params as { '*': string })['*']
  const { download, image } = request.query as { download?: unknown; image?: unknown }
  const use = download !== undefined ? 'download' : image !== undefined ? 'image' : 'file'
  const etag = etagOf(archive, path, use)
  const answer =
    isFresh(request, etag) && request.headers['if-none-match']?.trim() !== '*' ? null : await answerFor(context, archive, path, use)
  if (answer === 'missing') return sendFromRepository(context, archive, path)
  restrictContent(reply)
  reply.header('etag', etag).header('vary', 'authorization, cookie')
  reply.header('cache-control', cacheControlOf(context, 'private, immutable, max-age=31536000'))
  if (answer === null) return sendHeadersOnly(request, reply.code(304))
  if (answer.isAttachment) reply.header('content-disposition', attachment(path))
  reply.type(answer.type).header('content-length', answer.bytes)
  if (request.method === 'HEAD') return sendHeadersOnly(request, reply)
  return reply.send(answer.content())
}

/** What a file is requested for. An image for a document must be within the limits of the image proxy. */
type Use = 'file' | 'download' | 'image'

/** The file follows from the archive and the path. */
const etagOf = ({ sha256 }: VersionArchive, path: string, use: Use): string =>
  `"${createHash('sha256')
    .update(JSON.stringify([revision, sha256, path, use]))
    .digest('base64url')
    .slice(0, 32)}"`

/** Only such paths are looked for in the repository, since each may make the proxy send a request. */
const imageName = /\.(?:png|jpe?g|gif|webp|avif|svg)$/i
const maxPath = 300

/** Redirects to an image in the package's repository, for images that authors leave out of the archive. @throws ApiError NotFound */
async function sendFromRepository(context: Context, { name, version }: VersionArchive, path: string): Promise<unknown> {
  const isImage = (context.request.query as { image?: unknown }).image !== undefined && imageName.test(path) && path.length <= maxPath
  const repository = isImage ? await readRepository(context, name, version) : null
  const file = repository && fileInRepository(repository, '', path.split('/').map(encodeURIComponent).join('/'))
  const target = file && resolveRemote(file, imageSettings(context))
  if (!target) throw notFound(`There is no file ${path} in ${name} ${version}.`)
  return context.reply.redirect(target, 302)
}

async function readRepository({ database }: Context, name: string, version: string): Promise<string | null> {
  const row = await database.reads.get(
    db
      .selectFrom('package_versions as v')
      .innerJoin('packages as p', 'p.id', 'v.package_id')
      .select('v.pubspec')
      .where('p.name', '=', name)
      .where('v.version', '=', version),
  )
  return row ? repositoryOf(storedPubspec(row.pubspec)) : null
}

type Answer = { type: string; bytes: number; isAttachment: boolean; content: () => Buffer | Readable }

/** Larger files are sent in parts of this size. */
const partBytes = maxSvgBytes

async function answerFor(context: Context, archive: VersionArchive, path: string, use: Use): Promise<Answer | 'missing'> {
  const isDownload = use === 'download'
  const found = await readArchiveFile(context, archive, path, use === 'image' ? maxImageBytes : partBytes)
  if (!found) return 'missing'
  const { file, content } = found
  if (use === 'image' && file.kind === 'image' && !isShownImage(file, content))
    throw notFound(`The image ${path} of ${archive.name} ${archive.version} is too large or damaged.`)
  if (file.mediaType === 'image/svg+xml' && !isDownload) {
    const svg = file.bytes > maxSvgBytes ? null : await safeSvg(context, content)
    if (svg) return { type: 'image/svg+xml', bytes: svg.length, isAttachment: false, content: () => svg }
  }
  return {
    type: typeOf(file),
    bytes: file.bytes,
    isAttachment: isDownload || file.kind === 'binary',
    content: () =>
      content.length === file.bytes ? content : Readable.from(partsOf(context, archive, file, content), { objectMode: false }),
  }
}

const isShownImage = ({ bytes, mediaType }: PackageFile, content: Buffer): boolean =>
  content.length === bytes && isShowable(content, mediaType)

const typeOf = ({ kind, mediaType }: PackageFile): string =>
  kind === 'text' || mediaType === 'image/svg+xml' ? 'text/plain; charset=utf-8' : mediaType

async function* partsOf(context: Context, archive: VersionArchive, { path, bytes }: PackageFile, first: Buffer): AsyncGenerator<Buffer> {
  yield first
  for (let start = first.length; start < bytes; start += partBytes)
    yield await readPart(context, archive, path, start, Math.min(partBytes, bytes - start))
}
