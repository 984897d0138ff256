import type { Context } from '../../../platform/access/context.ts'
import { compressText, sendValidated } from '../../../platform/http/caching/compression.ts'
import { noStore } from '../../../platform/http/caching/conditional.ts'
import { pubType } from '../../../platform/http/failures.ts'
import { entrySchema, listingSchema, pubJson } from '../../../platform/pub/listing.ts'
import { valueAt } from '../../../platform/rest/operation.ts'
import { binary, type Data, route } from '../../../platform/rest/route.ts'
import { audienceOf, cacheControlOf } from '../../../platform/access/audience.ts'
import { readEntry, readerOf, readListing } from './service.ts'
import { packageParameter, unknownPackage, unknownVersion, versionParameter } from '../parameters.ts'

export const packageBinaries = [
  binary('GET /api/packages/:pkg', {
    pub: true,
    access: 'browse',
    summary: 'A package with all its versions, for package clients.',
    operation: route('GET /api/packages/:pkg', 'query ($pkg: String!) { package(name: $pkg) { listing } }'),
    handler: sendListing,
    produces: {
      200: { description: 'The listing.', type: pubJson, schema: listingSchema(entrySchema) },
      304: { description: 'Not modified since the given ETag.' },
    },
  }),
  binary('GET /api/packages/:pkg/versions/:version', {
    pub: true,
    access: 'browse',
    onSend: compressText,
    summary: 'One version of a package, as in the listing.',
    handler: sendEntry,
    produces: { 200: { description: 'The entry.', type: pubJson, schema: entrySchema } },
  }),
]

async function sendListing(context: Context, run: () => Promise<Data>): Promise<unknown> {
  const { request } = context
  const { pkg = '' } = request.params as Record<string, string>
  // Clients show "could not find package" for 404 only.
  const name = /^[A-Za-z_]\w*$/.test(pkg) ? pkg : packageParameter(request)
  const write = async () => valueAt(await run(), 'package.listing') as string | null
  const listing = await readListing(readerOf(context), name, audienceOf(context), write)
  if (!listing) throw unknownPackage(name)
  return sendValidated(context, listing, { type: pubType, cacheControl: cacheControlOf(context, 'private, no-cache') })
}

async function sendEntry(context: Context): Promise<unknown> {
  const { request, reply } = context
  const [name, version] = [packageParameter(request), versionParameter(request)]
  const entry = await readEntry(readerOf(context), name, version, audienceOf(context))
  if (entry === null) throw unknownVersion(name, version)
  reply.header('cache-control', cacheControlOf(context, noStore)).header('vary', 'authorization, cookie')
  return reply.type(pubType).send(entry)
}
