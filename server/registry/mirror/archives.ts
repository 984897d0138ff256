import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { ApiError, lowSpace, notFound, serviceUnavailable } from '../../errors.ts'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import type { BlobStore, StoredBytes } from '../../platform/blobs/store.ts'
import { ownTurn } from '../../platform/http/turn-end.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { hasSpace } from '../../platform/store/side-store.ts'
import { type Entry, findEntry, forgetEtag, mirrorFiles, type MirrorServices } from './entries.ts'
import { reportFaults } from './decisions.ts'
import type { MirroredVersion } from './listing.ts'
import { fetchOnce } from './limits.ts'
import { readDocument } from './documents.ts'
import { inThread } from './threads.ts'
import { archiveRejected, isArchiveRejected } from './health.ts'
import { requestArchive, timesOf } from './upstream.ts'

/** An archive that is being fetched: its bytes while they arrive, and the result. `length` is null if the upstream server does not state it. */
export type ArrivingArchive = { length: number | null; body: Readable; done: Promise<StoredBytes> }

type Wanted = { name: string; caller: string } & Pick<MirroredVersion, 'version' | 'archiveUrl' | 'sha256'>

/** How long a failed fetch of an archive is not repeated, in milliseconds. */
const failedMs = 10_000
/** Bytes that wait for a slow client. One that is further behind gets the rest from the store, so that others do not wait for it. */
const maxBehind = 1024 ** 2

const archiveKey = ({ name, version }: Pick<Wanted, 'name' | 'version'>) => ({ kind: 'archive', name, version }) as const

/**
 * Fetches an archive into the mirror, once for all callers and instances. Returns it while it arrives if this call starts the fetch, else when it is
 * complete. The archive is kept only if it has the SHA-256 of the listing.
 * @throws ApiError NotFound, ServiceUnavailable
 */
export async function fetchArchive(services: MirrorServices, wanted: Wanted): Promise<StoredBytes | ArrivingArchive> {
  const started = Promise.withResolvers<StoredBytes | ArrivingArchive>()
  let copy: Copy | null = null
  const done: Promise<StoredBytes> = storedArchive(services, wanted, (length, arriving) => {
    copy = arriving
    started.resolve({ length, body: arriving.client, done })
  })
  done.then(
    (stored) => (copy ? void endCopy(services, stored, copy) : started.resolve(stored)),
    (error: Error) => (copy ? copy.client.destroy(error) : started.reject(error)),
  )
  return started.promise
}

/** Returns the archive when it is complete, as `fetchArchive`. */
export async function fetchWholeArchive(services: MirrorServices, wanted: Wanted): Promise<StoredBytes> {
  const fetched = await fetchArchive(services, wanted)
  if (!('done' in fetched)) return fetched
  fetched.body.resume()
  return fetched.done
}

type OnArrival = (length: number | null, copy: Copy) => void

/** Returns an archive of the store after fetching it if necessary. @throws ApiError NotFound, ServiceUnavailable */
async function storedArchive(services: MirrorServices, wanted: Wanted, onArrival: OnArrival): Promise<StoredBytes> {
  const key = archiveKey(wanted)
  const unavailable = (reason: string | null, status?: number) => notSent(services, wanted, reason, status)
  const { sha256, bytes, crc32c, failure } = await fetchOnce(services, key, {
    known: await findEntry(services, key),
    caller: wanted.caller,
    isFact: false,
    patienceMs: timesOf(services).archiveMs,
    isSettled: (entry) => entry.sha256 !== null || failedRecently(services, entry),
    request: () => transfer(services, wanted, onArrival),
    report: (error) => reportFailure(services, wanted, error),
    unavailable,
  })
  if (sha256 === null) throw unavailable(failure)
  return { sha256, bytes, crc32c: crc32c ?? '' }
}

const failedRecently = ({ now }: MirrorServices, { failedAt }: Entry): boolean =>
  failedAt !== null && now().getTime() - failedAt.getTime() < failedMs

function reportFailure(services: MirrorServices, { name, version }: Wanted, error: unknown): void {
  if (!(error instanceof NotFetched)) return
  const reason = `The archive of ${name} ${version} could not be fetched: ${error.message}.`
  reportFaults(services, name, [{ version, rule: 'archive', reason }])
}

/** Statuses with which servers answer to signed URLs that have expired. */
const expired = new Set<number | undefined>([400, 401, 403, 404, 410])

/** Requests an archive. If its URL may have expired, reads it again from a new listing and tries once more. */
async function transfer(services: MirrorServices, wanted: Wanted, onArrival: OnArrival): Promise<StoredBytes> {
  if (!(await hasSpace(services.config))) throw lowSpace('the mirror fetched nothing')
  const { archiveMs, pace } = timesOf(services)
  const renewUrl = async ({ status }: NotFetched) => (expired.has(status) ? renewedUrl(services, wanted).catch(() => null) : null)
  return requestArchive(services, { url: wanted.archiveUrl, ms: archiveMs, pace, renewUrl }, (answer, received) =>
    receive(services, wanted, answer, received, onArrival),
  )
}

/** Returns the URL of an archive according to a new listing; null if it has not changed. */
async function renewedUrl(services: MirrorServices, { name, version, archiveUrl, caller }: Wanted): Promise<string | null> {
  await forgetEtag(services, { kind: 'listing', name })
  const listing = (await readDocument(services, 'listing', name, { caller, newerThan: services.now() }))?.packed
  if (!listing) return null
  const task = { task: 'archiveUrl', listing, version } as const
  const url = await inThread(services, caller, z.string().nullable(), task)
  return url === archiveUrl ? null : url
}

async function receive(
  services: MirrorServices,
  wanted: Wanted,
  answer: IncomingMessage,
  received: (bytes: number) => void,
  onArrival: OnArrival,
): Promise<StoredBytes> {
  const limit = services.config.MAX_UPLOAD_BYTES
  const status = answer.statusCode ?? 0
  if (status === 401 || status === 403) throw archiveRejected(services.config, status, answer.url ?? wanted.archiveUrl)
  if (status !== 200) throw new NotFetched(`status ${status}`, { isTemporary: status === 429 || status >= 500, status })
  if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') throw new NotFetched('the content is encoded')
  const length = answer.headers['content-length'] === undefined ? null : Number(answer.headers['content-length'])
  if ((length ?? 0) > limit) throw new NotFetched(`it has ${length} bytes, more than ${limit} (MAX_UPLOAD_BYTES)`)
  const client = new PassThrough({ highWaterMark: maxBehind })
  // An error also reaches the caller through `done`.
  client.on('error', () => {})
  const copy: Copy = { client, held: null, sent: 0, isBehind: false }
  onArrival(length, copy)
  return keepArchive(await mirrorFiles.store(services), wanted.sha256, limit, copied(answer, copy, received))
}

/** Ends the copy of an archive that is in the mirror now. A slow client gets the rest from the store. */
async function endCopy(services: MirrorServices, { sha256, bytes }: StoredBytes, { client, held, sent, isBehind }: Copy): Promise<void> {
  if (!isBehind) return void client.end(held)
  try {
    await pipeline(await (await mirrorFiles.store(services)).open(sha256, { start: sent, end: bytes - 1 }), client)
  } catch (error) {
    client.destroy(error as Error)
  }
}

/** Stores an archive if it has the expected SHA-256. @throws NotFetched otherwise */
export async function keepArchive(
  blobs: BlobStore,
  sha256: string | null,
  limit: number,
  source: AsyncIterable<Buffer>,
): Promise<StoredBytes> {
  const staged = `mirror-${randomUUID()}`
  try {
    const stored = await blobs.stage(staged, Readable.from(source, { objectMode: false }), limit)
    if (sha256 !== null && stored.sha256 !== sha256)
      throw new NotFetched(`its SHA-256 is ${stored.sha256} instead of ${sha256} as in the listing`)
    await blobs.promote(staged, stored.sha256)
    return stored
  } catch (error) {
    await blobs.discard(staged)
    throw error instanceof ApiError && error.status === 413 ? new NotFetched(`it has more than ${limit} bytes (MAX_UPLOAD_BYTES)`) : error
  }
}

/**
 * The copy of an archive for the client that started the fetch. `held`: the last chunk, which is not sent yet; `sent`: number of bytes sent;
 * `isBehind`: whether the client is too slow to get more before the archive is complete.
 */
type Copy = { client: PassThrough; held: Buffer | null; sent: number; isBehind: boolean }

/**
 * Passes chunks on to the store and to a client. The client gets each chunk when the next one arrives, so that it does not have a whole archive
 * before its content is verified.
 */
async function* copied(answer: IncomingMessage, copy: Copy, received: (bytes: number) => void): AsyncGenerator<Buffer> {
  const { client } = copy
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    received(chunk.length)
    await ownTurn()
    if (copy.held && !copy.isBehind && !client.destroyed) {
      copy.sent += copy.held.length
      copy.isBehind = !client.write(copy.held)
    }
    copy.held = chunk
    yield chunk
  }
}

function notSent({ config }: MirrorServices, { name, version }: Wanted, reason: string | null, status?: number) {
  const what = `${config.UPSTREAM_URL} did not send the archive of ${name} ${version}`
  if (status === 404 || status === 410) return notFound(`${what}: it does not exist.`)
  const text = `${what}${reason ? ` (${reason})` : ''}.`
  return isArchiveRejected(reason) ? serviceUnavailable(text, 60) : serviceUnavailable(`${text} Try again in a moment.`, 10)
}

/** Opens a stored archive or a range of it: small archives from the cache in memory. Rejects with ENOENT if the file is not in the store. */
export async function openMirrored(
  services: MirrorServices,
  { sha256, bytes }: StoredBytes,
  range: { start: number; end: number } | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  const { archives } = services.caches
  const known = archives.get(sha256)
  if (known) return range ? known.subarray(range.start, range.end + 1) : known
  const blobs = await mirrorFiles.store(services)
  if (bytes > maxCachedBytes) return blobs.open(sha256, range, isTaken)
  const content = inOwnMemory(await blobs.read(sha256))
  archives.set(sha256, content)
  return range ? content.subarray(range.start, range.end + 1) : content
}
/** Largest archive in bytes that is cached in memory. */
const maxCachedBytes = 256 * 1024
