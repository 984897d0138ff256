import { audienceOf, cacheControlOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { isOfJob } from '../../platform/access/token-secret.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { notFound } from '../../errors.ts'
import type { ByteRange } from '../../platform/http/caching/conditional.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { findArchive, linkToArchive, openArchive, proxyPathFor } from '../packages/listing/archive.ts'
import { packageParameter, unknownVersion, versionParameter } from '../packages/parameters.ts'
import { archiveUrl, splitArchiveName } from '../../platform/pub/package-name.ts'
import { binary } from '../../platform/rest/route.ts'
import { sendStoredArchive } from './send.ts'
import { countDownload } from './tally.ts'

const found = { 303: { description: 'The archive is at `Location`.' } }

/** Routes for archives: the URL in listings and two older ones. */
export const archiveBinaries = [
  binary('GET /api/archives/:file', {
    pub: true,
    access: 'browse',
    isArchive: true,
    summary: 'The archive of a version, named <package>-<version>.tar.gz.',
    handler: sendArchive,
    produces: {
      200: { description: 'The archive.', type: 'application/gzip' },
      206: { description: 'The requested range of the archive.', type: 'application/gzip' },
      302: { description: 'The archive is at `Location` on another server, for one minute.' },
      304: { description: "The client's copy is current." },
    },
    errorStatuses: [416],
  }),
  binary('GET /packages/:pkg/versions/:version.tar.gz', {
    access: 'browse',
    isArchive: true,
    summary: 'Former URL of an archive.',
    handler: redirectToArchive,
    produces: found,
  }),
  binary('GET /api/packages/:pkg/versions/:version/archive.tar.gz', {
    access: 'browse',
    isArchive: true,
    summary: 'Another former URL of an archive.',
    handler: redirectToArchive,
    produces: found,
  }),
]

async function sendArchive(context: Context): Promise<unknown> {
  const archive = await requestedArchive(context)
  return sendStoredArchive(context, archive, {
    cacheControl: cacheControlOf(context, 'private, immutable, max-age=31536000'),
    link: () => linkFor(context, archive),
    place: (range) => proxyPath(context, archive, range),
    open: (range, isTaken) => openArchive(context, archive, range, isTaken),
    count: (range) => countArchive(context, archive, range),
  })
}

type Requested = StoredBytes & { name: string; version: string }

async function requestedArchive(context: Context): Promise<Requested> {
  const named = splitArchiveName((context.request.params as { file: string }).file)
  const archive = named && (await findArchive(context, named.name, named.version, audienceOf(context)))
  if (!archive) throw notFound('There is no such archive on this server.')
  return { ...named, ...archive }
}

/**
 * Returns the internal path for X-Accel-Redirect, or null if this server must send the archive itself: for HEAD requests, requests that did not pass
 * a proxy, and conditional or range headers that the proxy would handle differently.
 */
function proxyPath(context: Context, archive: Requested, range: ByteRange | null): Promise<string | null> | null {
  const { method, headers } = context.request
  const isProxied = headers['x-forwarded-for'] !== undefined
  const isOdd = (headers.range !== undefined && !range) || headers['if-match'] !== undefined || headers['if-unmodified-since'] !== undefined
  return method === 'HEAD' || !isProxied || isOdd ? null : proxyPathFor(context, archive)
}

/**
 * Returns a URL to redirect the client to, or null. HEAD requests get no redirect because a link is valid for one method; jobs of this server get
 * none because they can reach only this server.
 */
function linkFor(context: Context, archive: Requested): Promise<string | null> | null {
  const { method, headers } = context.request
  if (method === 'HEAD' || isOfJob(headers.authorization)) return null
  return linkToArchive(context, archive, audienceOf(context))
}

/** Counts a download, except for range requests that start later in the archive, which were counted with the first request. */
function countArchive(context: Context, { name, version }: { name: string; version: string }, range: { start: number } | null): void {
  if (!range || range.start === 0) countDownload(context, context.request, name, version)
}

async function redirectToArchive(context: Context): Promise<unknown> {
  const { request, reply, config } = context
  const [name, version] = [packageParameter(request), versionParameter(request)]
  const url = archiveUrl(publicUrl(request, config.SERVER_URL), name, version)
  if (!(await findArchive(context, name, version, audienceOf(context)))) throw unknownVersion(name, version)
  return reply.redirect(url, 303)
}
