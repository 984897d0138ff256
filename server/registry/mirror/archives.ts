import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { ApiError, lowSpace, notFound, serviceUnavailable } from '../../errors.ts'
import type { BlobStore, StoredBytes } from '../../platform/blobs/store.ts'
import { ownTurn } from '../../platform/http/turn-end.ts'
import { NotFetched, orTemporary, watchPace } from '../../platform/outbound/request.ts'
import { hasSpace } from '../../platform/store/side-store.ts'
import {
  claim,
  type Entry,
  findEntry,
  forgetEtag,
  keyOf,
  mirrorStore,
  type MirrorServices,
  releaseClaim,
  saveEntry,
  saveFailure,
  whileClaimed,
} from './entries.ts'
import { reportFaults } from './decisions.ts'
import type { MirroredVersion } from './listing.ts'
import { heedPause, inTurnForArchive, pausedError, type SharedWorks, shareTurn, UpstreamPaused, withinLimits } from './limits.ts'
import { readDocument } from './documents.ts'
import { inThread } from './threads.ts'
import { archiveRejected, healthOf, isArchiveRejected, measured } from './health.ts'
import { requestUpstream, timesOf, unpackedBytes } from './upstream.ts'

/** An archive that is being fetched: its bytes while they arrive, and the result. `length` is null if the upstream server does not state it. */
export type ArrivingArchive = { length: number | null; body: Readable; done: Promise<StoredBytes> }

declare module '../../services.ts' {
  interface State {
    /** Archives that are being fetched, by key. The result is null if another instance is fetching it. */
    mirrorArchives?: SharedWorks<StoredBytes | null>
  }
}

type Wanted = { name: string; caller: string } & Pick<MirroredVersion, 'version' | 'archiveUrl' | 'sha256'>

/** How long a failed fetch of an archive is not repeated, in milliseconds. */
const failedMs = 10_000
const pollMs = 150
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
  const done: Promise<StoredBytes> = fetchOrAwait(services, wanted, (arrival) => {
    // An error ends the client's response.
    done.catch((error: Error) => arrival.body.destroy(error))
    started.resolve({ ...arrival, done })
  })
  done.then(started.resolve, started.reject)
  return started.promise
}

/** Returns the archive when it is complete, as `fetchArchive`. */
export async function fetchWholeArchive(services: MirrorServices, wanted: Wanted): Promise<StoredBytes> {
  const fetched = await fetchArchive(services, wanted)
  if (!('done' in fetched)) return fetched
  fetched.body.resume()
  return fetched.done
}

type OnArrival = (arrival: Omit<ArrivingArchive, 'done'>) => void

async function fetchOrAwait(services: MirrorServices, wanted: Wanted, onArrival: OnArrival): Promise<StoredBytes> {
  const key = archiveKey(wanted)
  const works: SharedWorks<StoredBytes | null> = (services.state.mirrorArchives ??= new Map<string, never>())
  const inTurn = (caller: string, work: () => Promise<unknown>) => inTurnForArchive(caller, () => withinLimits(services, caller, work))
  const turn = { id: keyOf(key), key: wanted.caller, inTurn }
  for (let waited = 0; ; waited += pollMs) {
    const entry = await findEntry(services, key)
    if (entry?.sha256) return { sha256: entry.sha256, bytes: entry.bytes, crc32c: entry.crc32c ?? '' }
    if (entry && failedRecently(services, entry)) throw notSent(services, wanted, entry.failure)
    if (waited > timesOf(services).archiveMs) throw notSent(services, wanted, 'another instance is still fetching it')
    const isElsewhere = entry?.leasedUntil && entry.leasedUntil >= services.now() && !works.has(turn.id)
    const fetched = isElsewhere ? null : await shareTurn(works, turn, () => fetchClaimed(services, wanted, onArrival))
    if (fetched) return fetched
    await new Promise((resolve) => void setTimeout(resolve, pollMs))
  }
}

const failedRecently = ({ now }: MirrorServices, { failedAt }: Entry): boolean =>
  failedAt !== null && now().getTime() - failedAt.getTime() < failedMs

/** Fetches an archive. Returns null if another instance is fetching it, or has done so before the claim. @throws ApiError */
async function fetchClaimed(services: MirrorServices, wanted: Wanted, onArrival: OnArrival): Promise<StoredBytes | null> {
  const key = archiveKey(wanted)
  if (!(await claim(services, key))) return null
  const transferred = whileClaimed(services, key, async () => {
    const entry = await findEntry(services, key)
    if (entry && (entry.sha256 !== null || failedRecently(services, entry))) return releaseClaim(services, key).then(() => null)
    return measured(services, () => transferOrRenew(services, wanted, onArrival))
  })
  return transferred.catch((error: unknown) => endFetch(services, wanted, error))
}

/** Records why a fetch failed. @throws ApiError */
async function endFetch(services: MirrorServices, wanted: Wanted, error: unknown): Promise<never> {
  const key = archiveKey(wanted)
  const reason = error instanceof Error ? error.message : String(error)
  if (error instanceof UpstreamPaused) await releaseClaim(services, key)
  else await saveFailure(services, key, reason)
  if (error instanceof UpstreamPaused) throw pausedError(services, error)
  if (!(error instanceof NotFetched)) throw error
  const fault = `The archive of ${wanted.name} ${wanted.version} could not be fetched: ${reason}.`
  reportFaults(services, wanted.name, [{ version: wanted.version, rule: 'archive', reason: fault }])
  throw notSent(services, wanted, reason, error.status)
}

/** Statuses with which servers answer to signed URLs that have expired. */
const expired = new Set<number | undefined>([400, 401, 403, 404, 410])

/** Transfers an archive. If its URL may have expired, reads it again from a new listing and tries once more. */
async function transferOrRenew(services: MirrorServices, wanted: Wanted, onArrival: OnArrival): Promise<StoredBytes> {
  try {
    return await transfer(services, wanted, onArrival)
  } catch (error) {
    if (!(error instanceof NotFetched) || !expired.has(error.status)) throw error
    await forgetEtag(services, { kind: 'listing', name: wanted.name })
    const archiveUrl = await renewedUrl(services, wanted).catch(() => null)
    if (archiveUrl === null || archiveUrl === wanted.archiveUrl) throw error
    return transfer(services, { ...wanted, archiveUrl }, onArrival)
  }
}

async function renewedUrl(services: MirrorServices, { name, version, caller }: Wanted): Promise<string | null> {
  const listing = (await readDocument(services, 'listing', name, { caller, newerThan: services.now() }))?.packed
  return listing ? inThread(caller, unpackedBytes(listing), z.string().nullable(), { task: 'archiveUrl', listing, version }) : null
}

async function transfer(services: MirrorServices, wanted: Wanted, onArrival: OnArrival): Promise<StoredBytes> {
  const { config, stopping } = services
  if (!(await hasSpace(config))) throw lowSpace('the mirror fetched nothing')
  const times = timesOf(services)
  const watch = watchPace(AbortSignal.any([AbortSignal.timeout(times.archiveMs), stopping.signal]), times.pace)
  try {
    const headers = { accept: 'application/octet-stream, */*', 'accept-encoding': 'identity' }
    const archiveHost = new URL(wanted.archiveUrl).host
    const answer = await heedPause(
      services,
      await requestUpstream(services, wanted.archiveUrl, { headers, signal: watch.signal, archiveHost }),
    )
    try {
      return await orTemporary(wanted.archiveUrl, () => receive(services, wanted, answer, watch.received, onArrival))
    } finally {
      answer.destroy()
    }
  } catch (error) {
    throw watch.signal.aborted ? new NotFetched(String(watch.signal.reason), { isTemporary: true, cause: error }) : error
  } finally {
    watch.end()
  }
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
  onArrival({ length, body: client })
  const copy: Copy = { client, held: null, sent: 0, isBehind: false }
  const count = (bytes: number) => (received(bytes), (healthOf(services).bytes += bytes))
  const blobs = await mirrorStore(services)
  const stored = await keepArchive(blobs, wanted.sha256, limit, copied(answer, copy, count))
  await saveEntry(services, archiveKey(wanted), stored)
  if (copy.isBehind) sendRest(blobs, stored, copy).catch((error: Error) => client.destroy(error))
  else client.end(copy.held)
  return stored
}

/** Sends what a slow client has not received yet. */
const sendRest = async (blobs: BlobStore, { sha256, bytes }: StoredBytes, { client, sent }: Copy): Promise<void> =>
  pipeline(await blobs.open(sha256, { start: sent, end: bytes - 1 }), client)

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
