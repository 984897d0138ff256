import { serviceUnavailable } from '../../errors.ts'
import { hasSpace, storeContent } from '../../platform/store/side-store.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import type { MirrorKind } from './entity.ts'
import {
  archiveHashes,
  claim,
  confirmEntry,
  type Entry,
  findEntry,
  forgetFile,
  isMissing,
  keyOf,
  mirrorStore,
  type MirrorServices,
  recordUse,
  releaseClaim,
  savedAges,
  saveEntry,
  saveFailure,
  whileClaimed,
} from './entries.ts'
import type { KnownAge } from './ages.ts'
import { documentLimits } from './listing.ts'
import { reportFaults } from './decisions.ts'
import { inTurn, pausedError, rejectAgain, requireNoPause, type SharedWorks, shareTurn, UpstreamPaused, withinLimits } from './limits.ts'
import { checkInThread } from './threads.ts'
import { countRead, isAccessRejected, isTemporary, isUnreachable } from './health.ts'
import { fetchDocument, timesOf } from './upstream.ts'

export type DocumentKind = Exclude<MirrorKind, 'archive'>

type DocumentKey = { kind: DocumentKind; name: string; version?: string | undefined }

/** A document of the upstream server, compressed. A stale one could not be compared with the upstream server in time; `failure` is the reason. */
export type Document = { packed: Buffer; sha256: string; checkedAt: Date; isStale: boolean; failure: string | null }

/** A document's address in the mirror, without its content. */
export type DocumentState = Omit<Document, 'packed'>

declare module '../../services.ts' {
  interface State {
    /** Documents that are being fetched, by key. */
    mirrorFetches?: SharedWorks<Fetch>
  }
}

/** `unknown`: the upstream server has neither the document nor, as far as the mirror knows, the package. Null: another instance is fetching it. */
type Fetch = 'fetched' | 'unknown' | null

function pathOf({ kind, name, version = '' }: DocumentKey): string {
  if (kind === 'names') return '/api/package-name-completion-data'
  if (kind === 'attestation') return `/api/packages/${name}/versions/${encodeURIComponent(version)}/attestation`
  return kind === 'listing' ? `/api/packages/${name}` : `/api/packages/${name}/${kind}`
}

/** Longest time in milliseconds for which the answer "no such package" is kept, and for which nothing is requested after a failure. */
const [absentMs, failedMs] = [60_000, 10_000]
/** Documents that change rarely are compared with the upstream server once an hour, or after UPSTREAM_TTL if that is longer. */
const slowMs = 3_600_000
/** How long a caller waits for a comparison if the mirror already has the document. */
const patienceMs = 3000
/** How often a caller looks whether another instance has fetched the document. */
const pollMs = 150

/** `newerThan`: the document must have been compared after this time. `isFact`: policies need it, so the caller's limits do not apply. `version`: that of an attestation. */
type Asked = { newerThan?: Date | undefined; caller?: string | undefined; isFact?: boolean; version?: string | undefined }

/**
 * Returns the state of a document, after comparing it with the upstream server if that is due. Concurrent callers of all instances share one request.
 * Returns null if the upstream server has no such document.
 * @throws ApiError ServiceUnavailable if the document is not in the mirror and the upstream server does not answer.
 */
export async function documentState(
  services: MirrorServices,
  kind: DocumentKind,
  name: string,
  { newerThan, caller = '', isFact = false, version }: Asked = {},
): Promise<DocumentState | null> {
  const key = { kind, name, version }
  let entry = await findEntry(services, key)
  const isHit = isCurrent(services, kind, entry, newerThan)
  const askedAt = services.now()
  const hadFile = entry?.sha256 != null
  // A fetch that fails is a miss, too.
  if (!isHit && !hadFile) countRead(services, kind, 'miss')
  if (!isHit) {
    const fetching = fetchOrAwait(services, key, { caller, isFact, newerThan })
    // A failure is stored in the row.
    const settled = fetching.catch((error: unknown) => error)
    const late = hadFile ? wait(isUnreachable(services) ? 0 : patienceMs) : undefined
    await (late ? Promise.race([settled, late.ended]) : fetching)
    late?.cancel()
    entry = (await findEntry(services, key)) ?? entry
  }
  const isStale = !!entry?.checkedAt && entry.checkedAt < askedAt && isOlder(services, kind, entry)
  if (isHit || hadFile) countRead(services, kind, !entry?.checkedAt ? 'miss' : isStale ? 'stale' : isHit ? 'hit' : 'miss')
  if (!entry?.checkedAt) throw fetchFailed(services, entry?.failure)
  if (entry.sha256 === null) return null
  await recordUse(services, key, entry.usedAt)
  const { sha256, checkedAt, failure } = entry
  return { sha256, checkedAt, failure, isStale }
}

/** Returns a document as `documentState`, with its content. */
export async function readDocument(...asked: Parameters<typeof documentState>): Promise<Document | null> {
  const [services, kind, name, options] = asked
  const state = await documentState(...asked)
  if (!state) return null
  const packed = await storedDocument(services, state.sha256)
  if (packed !== null) return { ...state, packed }
  // The file is not in the store, for example after a restore: fetch it again.
  await forgetFile(services, { kind, name, version: options?.version }, state.sha256)
  const again = await documentState(services, kind, name, { ...options, newerThan: services.now() })
  if (!again) return null
  const renewed = await storedDocument(services, again.sha256)
  if (renewed === null) throw fetchFailed(services, again.failure)
  return { ...again, packed: renewed }
}

/** Returns a stored document, compressed, or null if it is not in the store. Rejects if the store cannot be read. */
export async function storedDocument(services: MirrorServices, sha256: string): Promise<Buffer | null> {
  return (await mirrorStore(services)).read(sha256).catch((error: unknown) => {
    if (!isMissing(error)) throw error
    services.log.warning(`a file of the mirror cannot be read: ${String(error)}`)
    return null
  })
}

type Checked = Pick<Entry, 'sha256' | 'checkedAt'>

const lifetimeMs = ({ config }: Pick<MirrorServices, 'config'>, kind: DocumentKind, entry: Checked): number => {
  const ttl = config.UPSTREAM_TTL * 1000
  if (entry.sha256 === null) return Math.min(ttl, absentMs)
  return kind === 'listing' || kind === 'advisories' ? ttl : Math.max(ttl, slowMs)
}

/** Returns whether a document must be compared with the upstream server. */
export const isOlder = (services: Pick<MirrorServices, 'config' | 'now'>, kind: DocumentKind, entry: Checked): boolean =>
  entry.checkedAt === null || services.now().getTime() - entry.checkedAt.getTime() > lifetimeMs(services, kind, entry)

function isCurrent(services: MirrorServices, kind: DocumentKind, entry: Entry | undefined, newerThan: Date | undefined): boolean {
  if (!entry) return false
  const failedRecently = entry.failedAt !== null && services.now().getTime() - entry.failedAt.getTime() < failedMs
  if (failedRecently) return true
  return !isOlder(services, kind, entry) && (newerThan === undefined || (entry.checkedAt !== null && entry.checkedAt >= newerThan))
}

/**
 * Fetches a document in the caller's turn, or waits until another caller or instance has done so.
 * @throws ApiError ServiceUnavailable also if another instance holds the claim for longer than any request takes.
 */
async function fetchOrAwait(services: MirrorServices, key: DocumentKey, { caller = '', isFact, newerThan }: Asked): Promise<void> {
  if (!isFact) rejectAgain(services, caller)
  await requireNoPause(services).catch((error: unknown) => rejectFetch(services, error))
  const works: SharedWorks<Fetch> = (services.state.mirrorFetches ??= new Map<string, never>())
  const inOwnTurn = (by: string, work: () => Promise<Fetch | undefined>) =>
    inTurn(by, () => withinLimits(services, isFact ? '' : by, work, (found) => found === 'unknown'))
  const turn = { id: keyOf(key), key: caller, inTurn: inOwnTurn }
  const isHeld = ({ leasedUntil }: Entry) => leasedUntil !== null && leasedUntil >= services.now()
  let waited = 0
  while ((await shareTurn(works, turn, () => fetchClaimed(services, key, caller, newerThan))) === null) {
    let entry: Entry | undefined
    do {
      if (waited > timesOf(services).documentMs * 4) throw fetchFailed(services, 'another instance is still fetching it')
      await wait(pollMs).ended
      waited += pollMs
      entry = await findEntry(services, key)
    } while (entry && isHeld(entry))
    // A claim that was not ended has been abandoned.
    if (!entry?.leasedUntil) return
  }
}

/** Fetches a document unless another instance is fetching it. @throws ApiError */
async function fetchClaimed(services: MirrorServices, key: DocumentKey, caller: string, newerThan?: Date): Promise<Fetch> {
  if (!(await claim(services, key))) return null
  return whileClaimed(services, key, () => fetchInto(services, key, caller, newerThan)).catch((error: unknown) =>
    endFetch(services, key, error),
  )
}

/** Records why a fetch failed. @throws ApiError */
async function endFetch(services: MirrorServices, key: DocumentKey, error: unknown): Promise<never> {
  if (error instanceof UpstreamPaused) await releaseClaim(services, key)
  else await saveFailure(services, key, error instanceof Error ? error.message : String(error))
  reportUnusable(services, key, error)
  // Failures of the server itself are logged once for all documents.
  if (!isTemporary(error) && !(error instanceof NotFetched && isAccessRejected(error.message)))
    services.log.warning(`the upstream server did not send ${pathOf(key)}: ${String(error)}`)
  return rejectFetch(services, error)
}

function rejectFetch(services: MirrorServices, error: unknown): never {
  if (error instanceof UpstreamPaused) throw pausedError(services, error)
  throw error instanceof NotFetched ? fetchFailed(services, error.message) : error
}

async function fetchInto(services: MirrorServices, key: DocumentKey, caller: string, newerThan?: Date): Promise<Fetch> {
  const { kind, name } = key
  const before = await findEntry(services, key)
  // Another instance may have fetched it before the claim.
  if (isCurrent(services, kind, before, newerThan)) return releaseClaim(services, key).then(() => 'fetched')
  const saved = kind === 'listing' ? await savedAges(services, name) : new Map<string, KnownAge>()
  const etag = before?.sha256 && saved ? before.etag : null
  const answer = await fetchDocument(services, pathOf(key), etag, documentLimits[kind].bytes)
  if (answer.status === 304) return confirmEntry(services, key).then(() => 'fetched')
  if (answer.status === 404) await saveEntry(services, key, { sha256: null, bytes: 0 })
  if (answer.status === 404) return (await findEntry(services, { kind: 'listing', name }))?.sha256 ? 'fetched' : 'unknown'
  const known = kind === 'listing' && before?.sha256 ? await storedDocument(services, before.sha256) : null
  const pinned = kind === 'listing' ? await archiveHashes(services, name) : new Map<string, string>()
  const history = { now: services.now(), comparedAt: known === null ? null : (before?.checkedAt ?? null), versions: saved ?? new Map() }
  const upstreamUrl = services.config.UPSTREAM_URL ?? ''
  const task = { task: 'check', kind, name, document: answer.content, upstreamUrl, pinned, known, history } as const
  const { faults, content, ages } = await checkInThread(caller, task)
  reportFaults(services, name, faults)
  if (!(await hasSpace(services.config))) throw new NotFetched('the disk is almost full')
  const sha256 = await storeContent(await mirrorStore(services), content)
  await saveEntry(services, key, { sha256, bytes: content.length, etag: answer.etag, ages })
  return 'fetched'
}

/** Reports a document that cannot be used, unlike one that the upstream server did not send. Names for completion belong to no package. */
function reportUnusable(services: MirrorServices, key: DocumentKey, error: unknown): void {
  const { kind, name, version = '' } = key
  if (!(error instanceof NotFetched) || error.isTemporary || error.status !== undefined || kind === 'names') return
  const { message } = error
  const reason = message.startsWith('The ') ? message : `The upstream server sent an unusable ${pathOf(key)}: ${message}.`
  reportFaults(services, name, [{ version, rule: kind === 'listing' ? 'listing' : 'document', reason }])
}

const fetchFailed = ({ config }: MirrorServices, failure: string | null | undefined) =>
  isAccessRejected(failure)
    ? serviceUnavailable(`${config.UPSTREAM_URL} refuses access (${failure}).`, 60)
    : serviceUnavailable(`Fetching from ${config.UPSTREAM_URL} failed${failure ? ` (${failure})` : ''}. Try again in a moment.`, 10)

function wait(ms: number): { ended: Promise<void>; cancel: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  return { ended: promise, cancel: () => (clearTimeout(timer), resolve()) }
}
