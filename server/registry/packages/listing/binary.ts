import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { z } from 'zod'
import type { Context } from '../../../platform/access/context.ts'
import { acceptedEncoding, compressText } from '../../../platform/http/caching/compression.ts'
import { isFresh, noStore, sendHeadersOnly } from '../../../platform/http/caching/conditional.ts'
import { turnEnd } from '../../../platform/http/turn-end.ts'
import { valueAt } from '../../../platform/rest/operation.ts'
import { binary, type Data, route } from '../../../platform/rest/route.ts'
import { audienceOf, cacheControlOf } from '../../../platform/access/audience.ts'
import { readEntry, readerOf, readListing } from './service.ts'
import { packageParameter, unknownPackage, unknownVersion, versionParameter } from '../parameters.ts'

const pubType = 'application/vnd.pub.v2+json'

const always = z.literal(true).optional()

/** A version in a listing. Optional members are omitted, never null. */
const entrySchema = z.object({
  version: z.string(),
  retracted: always,
  archive_url: z.url(),
  archive_sha256: z.string(),
  pubspec: z.looseObject({ name: z.string(), version: z.string() }).describe('The pubspec.yaml as JSON.'),
  published: z.iso.datetime(),
})

const listingSchema = z.object({
  name: z.string(),
  advisoriesUpdated: z.iso.datetime().optional().describe('Omitted if the package never had a security advisory.'),
  isDiscontinued: always,
  replacedBy: z.string().optional(),
  latest: entrySchema.optional().describe('Omitted if all versions are retracted.'),
  versions: z.array(entrySchema),
})

export const packageBinaries = [
  binary('GET /api/packages/:pkg', {
    pub: true,
    access: 'browse',
    summary: 'A package with all its versions, for package clients.',
    operation: route('GET /api/packages/:pkg', 'query ($pkg: String!) { package(name: $pkg) { listing } }'),
    handler: sendListing,
    produces: {
      200: { description: 'The listing.', type: pubType, schema: listingSchema },
      304: { description: 'Not modified since the given ETag.' },
    },
  }),
  binary('GET /api/packages/:pkg/versions/:version', {
    pub: true,
    access: 'browse',
    onSend: compressText,
    summary: 'One version of a package, as in the listing.',
    handler: sendEntry,
    produces: { 200: { description: 'The entry.', type: pubType, schema: entrySchema } },
  }),
]

async function sendListing(context: Context, run: () => Promise<Data>): Promise<unknown> {
  const { request, reply } = context
  const { pkg = '' } = request.params as Record<string, string>
  // Clients show "could not find package" for 404 only.
  const name = /^[A-Za-z_]\w*$/.test(pkg) ? pkg : packageParameter(request)
  const write = async () => valueAt(await run(), 'package.listing') as string | null
  const listing = await readListing(readerOf(context), name, audienceOf(context), write)
  if (!listing) throw unknownPackage(name)
  await turnEnd()
  reply
    .header('etag', listing.etag)
    .header('cache-control', cacheControlOf(context, 'private, no-cache'))
    .header('vary', 'accept-encoding, authorization, cookie')
  if (isFresh(request, listing.etag)) return sendHeadersOnly(request, reply.code(304))
  reply.type(`${pubType}; charset=utf-8`)
  if (acceptedEncoding(request, ['gzip'])) return reply.header('content-encoding', 'gzip').send(listing.gzipped)
  return reply.send(await decompress(listing.gzipped))
}

async function sendEntry(context: Context): Promise<unknown> {
  const { request, reply } = context
  const [name, version] = [packageParameter(request), versionParameter(request)]
  const entry = await readEntry(readerOf(context), name, version, audienceOf(context))
  if (entry === null) throw unknownVersion(name, version)
  reply.header('cache-control', cacheControlOf(context, noStore)).header('vary', 'authorization, cookie')
  return reply.type(`${pubType}; charset=utf-8`).send(entry)
}

const decompress = promisify<Buffer, Buffer>(gunzip)
