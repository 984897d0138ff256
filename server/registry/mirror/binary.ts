import { z } from 'zod'
import { ApiError, insufficientPermissions, notFound } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { compressText, sendGzipped, sendValidated } from '../../platform/http/caching/compression.ts'
import { pubType } from '../../platform/http/failures.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { listingSchema, mirroredEntrySchema, pubJson } from '../../platform/pub/listing.ts'
import { binary } from '../../platform/rest/route.ts'
import { canReadMirror, type PackageState, requireMirror } from './access.ts'
import { redirectToArchive, sendArchive } from './archive-binary.ts'
import { completionDocument } from './catalog/names.ts'
import { type Document, type DocumentKind, readDocument } from './documents.ts'
import { recordRejection } from './decisions.ts'
import { countRead } from './health.ts'
import type { MirrorKind } from './entity.ts'
import { entryOf, findVersion, policiesOf, rejectingVerdict } from './render.ts'
import { callerOf } from './limits.ts'
import { currentListing, newerThan, obeyPolicies, requestedListing, requestedPackage, unknown } from './requested.ts'

const json = 'application/json; charset=utf-8'
const pub = { pub: true, access: 'open' } as const

/** Documents that are passed on: the members that clients read. */
const passedOn = {
  advisories: z.looseObject({ advisories: z.array(z.looseObject({ id: z.string() })), advisoriesUpdated: z.iso.datetime() }),
  score: z.looseObject({ tags: z.array(z.string()).optional() }),
  options: z.looseObject({ isDiscontinued: z.boolean().optional() }),
  publisher: z.looseObject({ publisherId: z.string().nullish() }),
}

/** Routes of the mirror, below the hosted URL `<SERVER_URL>/mirror`. They exist only with UPSTREAM_URL. */
export const mirrorBinaries = [
  binary('GET /mirror/api/packages/:name', {
    ...pub,
    summary: 'A package of the upstream server with all its versions, after the policies.',
    handler: (context) => counted(context, 'listing', sendListing),
    produces: {
      200: { description: 'The listing.', type: pubJson, schema: listingSchema(mirroredEntrySchema) },
      304: { description: 'Not modified since the given ETag.' },
    },
    errorStatuses: [401, 403, 404, 429, 503],
  }),
  binary('GET /mirror/api/packages/:name/versions/:version', {
    ...pub,
    onSend: compressText,
    summary: 'One version of an upstream package.',
    handler: (context) => counted(context, 'listing', sendEntry),
    produces: { 200: { description: 'The entry.', type: pubJson, schema: mirroredEntrySchema } },
    errorStatuses: [401, 403, 404, 429, 503],
  }),
  ...(['advisories', 'score', 'options', 'publisher'] as const).map((kind) =>
    binary(`GET /mirror/api/packages/:name/${kind}`, {
      ...pub,
      summary: `The ${kind} of an upstream package.`,
      handler: (context) => counted(context, kind, () => sendDocument(context, kind)),
      produces: {
        200: {
          description: 'The document as the upstream server sends it.',
          type: kind === 'advisories' ? pubJson : 'application/json',
          schema: passedOn[kind],
        },
      },
      errorStatuses: [401, 403, 404, 429, 503],
    }),
  ),
  binary('GET /mirror/api/packages/:name/versions/:version/attestation', {
    ...pub,
    onSend: compressText,
    summary: 'The attestation of an upstream version: a Sigstore bundle that states from which repository its archive was built.',
    handler: (context) => counted(context, 'attestation', sendAttestation),
    produces: {
      200: { description: 'The document as the upstream server sends it.', type: 'application/json', schema: z.looseObject({}) },
    },
    errorStatuses: [401, 403, 404, 503],
  }),
  binary('GET /mirror/api/package-name-completion-data', {
    access: 'open',
    onSend: compressText,
    summary: 'Names of upstream packages, for completion in editors.',
    handler: sendNames,
    produces: { 200: { description: 'The names.', type: 'application/json', schema: z.looseObject({ packages: z.array(z.string()) }) } },
    errorStatuses: [401, 403, 404, 429, 503],
  }),
  binary('GET /mirror/api/packages/versions/new', {
    ...pub,
    summary: 'Refuses to publish: packages are published to this server itself.',
    handler: rejectUpload,
    produces: {},
    errorStatuses: [403],
  }),
  binary('GET /mirror/api/archives/:archive', {
    ...pub,
    isArchive: true,
    summary: 'The archive of an upstream version, named <package>-<version>.tar.gz.',
    handler: (context) => counted(context, 'archive', sendArchive),
    produces: {
      200: { description: 'The archive.', type: 'application/gzip' },
      206: { description: 'The requested range of the archive.', type: 'application/gzip' },
      304: { description: "The client's copy is current." },
    },
    errorStatuses: [401, 403, 404, 416, 429, 503],
  }),
  binary('GET /mirror/packages/:name/versions/:version.tar.gz', {
    access: 'open',
    isArchive: true,
    summary: 'Former URL of an archive.',
    handler: redirectToArchive,
    produces: { 303: { description: 'The archive is at `Location`.' } },
    errorStatuses: [401, 403, 404],
  }),
  binary('GET /mirror/api/packages/:name/versions/:version/archive.tar.gz', {
    access: 'open',
    isArchive: true,
    summary: 'Another former URL of an archive.',
    handler: redirectToArchive,
    produces: { 303: { description: 'The archive is at `Location`.' } },
    errorStatuses: [401, 403, 404],
  }),
]

type Handler = (context: Context) => Promise<unknown>

/** Runs a handler. Counts requests that it rejects with status 403: by a policy, or because a name is never taken from the upstream server. */
async function counted(context: Context, kind: MirrorKind, handler: Handler): Promise<unknown> {
  try {
    return await handler(context)
  } catch (error) {
    if (error instanceof ApiError && error.status === 403 && canReadMirror(context)) countRead(context, kind, 'refused')
    throw error
  }
}

async function sendListing(context: Context): Promise<unknown> {
  const { name, listing, staleSince } = await requestedListing(context)
  if (listing.refusal) throw recordRejection(context, name, '', [listing.refusal])
  markStale(context, staleSince)
  return sendValidated(context, listing, { type: pubType, cacheControl: 'private, no-cache' })
}

/** Marks a response that could not be compared with the upstream server in time (RFC 7234 §5.5.1, which browsers ignore and people read). */
function markStale({ reply }: Context, staleSince: Date | null): void {
  if (staleSince) reply.header('warning', '110 - "Response is Stale"').header('x-mirror-checked', staleSince.toISOString())
}

async function sendEntry(context: Context): Promise<unknown> {
  const { request, reply, config } = context
  const { version = '' } = request.params as Record<string, string>
  const { name, listing, staleSince } = await requestedListing(context, version)
  const entry = await findVersion(listing, version)
  if (!entry) throw unknown(context, `${name} ${version}`)
  if (rejectingVerdict(entry.verdicts)) throw recordRejection(context, name, version, entry.verdicts)
  const isRetracted = entry.verdicts.some(({ mode }) => mode === 'enforce')
  markStale(context, staleSince)
  reply.header('cache-control', 'private, no-cache').header('vary', 'accept-encoding, authorization, cookie').type(pubType)
  const shown = isRetracted ? { ...entry, retracted: true } : entry
  return reply.send(entryOf(shown, name, publicUrl(request, config.SERVER_URL)))
}

/** Sends a document unchanged. */
async function sendDocument(context: Context, kind: Exclude<DocumentKind, 'listing' | 'attestation' | 'names'>): Promise<unknown> {
  const { name, state } = await requestedPackage(context, undefined, kind)
  if (kind === 'advisories') await requireReadable(context, name, state)
  const document = await readDocument(context, kind, name, { newerThan: newerThan(kind, state), caller: callerOf(context) })
  if (!document) throw unknown(context, name)
  return sendText(context, document, kind === 'advisories' ? pubType : json)
}

/** Sends the attestation of a version unchanged, if the policies do not reject the version. */
async function sendAttestation(context: Context): Promise<unknown> {
  const { version = '' } = context.request.params as Record<string, string>
  const { name, listing } = await requestedListing(context, version, { isCounted: false })
  await obeyPolicies(context, { name, version }, listing, false)
  const document = await readDocument(context, 'attestation', name, { version, caller: callerOf(context) })
  if (!document) throw notFound(`${context.config.UPSTREAM_URL} has no attestation of ${name} ${version}.`)
  return sendText(context, document, json)
}

function sendText(context: Context, document: Document, type: string): Promise<unknown> {
  const { reply, config } = context
  markStale(context, document.isStale ? document.checkedAt : null)
  reply
    .header('cache-control', `private, max-age=${Math.min(60, config.UPSTREAM_TTL)}`)
    .header('vary', 'accept-encoding, authorization, cookie')
    .type(type)
  return sendGzipped(context, document.packed)
}

/** @throws ApiError if the policies reject a package because its advisories cannot be read. */
async function requireReadable(context: Context, name: string, state: PackageState): Promise<void> {
  if (policiesOf(state.policies).advisories.mode !== 'enforce') return
  const { listing } = await currentListing(context, name, state, { isCounted: false })
  if (listing.advisoriesFault !== null && listing.refusal) throw recordRejection(context, name, '', [listing.refusal])
}

async function sendNames(context: Context): Promise<unknown> {
  requireMirror(context)
  return context.reply
    .header('cache-control', 'private, max-age=600')
    .type(json)
    .send(await completionDocument(context))
}

async function rejectUpload({ request, config }: Context): Promise<never> {
  const url = publicUrl(request, config.SERVER_URL)
  throw insufficientPermissions(
    `Publish to ${url}: set "publish_to: ${url}" in pubspec.yaml. ${url}/mirror only mirrors ${config.UPSTREAM_URL}.`,
  )
}
