import { serviceUnavailable } from '../../errors.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import type { MirrorKind } from './entity.ts'
import {
  archiveHashes,
  type Entry,
  findEntry,
  forgetFile,
  keyOf,
  mirrorFiles,
  type MirrorServices,
  savedAges,
  storedDocument,
} from './entries.ts'
import type { KnownAge } from './ages.ts'
import { documentLimits } from './listing.ts'
import { reportFaults } from './decisions.ts'
import { type Fetch, fetchOnce } from './limits.ts'
import { checkInThread } from './threads.ts'
import { countRead, isAccessRejected, isTemporary, isUnreachable } from './health.ts'
import { fetchDocument, timesOf } from './upstream.ts'

export type DocumentKind = Exclude<MirrorKind, 'archive'>

type DocumentKey = { kind: DocumentKind; name: string; version?: string | undefined }

/** A document of the upstream server, compressed. A stale one could not be compared with the upstream server in time; `failure` is the reason. */
export type Document = { packed: Buffer; sha256: string; checkedAt: Date; isStale: boolean; failure: string | null }

/** A document's address in the mirror, without its content. */
export type DocumentState = Omit<Document, 'packed'>

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
    const fetching = fetchOnce(services, key, fetchOf(services, key, entry, { caller, isFact, newerThan }))
    // A failure is stored in the row.
    const settled = fetching.catch(() => undefined)
    const late = hadFile ? wait(isUnreachable(services) ? 0 : patienceMs) : undefined
    const ended = late ? await Promise.race([settled, late.ended]) : await fetching
    late?.cancel()
    entry = ended ?? (await findEntry(services, key)) ?? entry
  }
  const isStale = !!entry?.checkedAt && entry.checkedAt < askedAt && isOlder(services, kind, entry)
  if (isHit || hadFile) countRead(services, kind, !entry?.checkedAt ? 'miss' : isStale ? 'stale' : isHit ? 'hit' : 'miss')
  if (!entry?.checkedAt) throw fetchFailed(services, entry?.failure)
  if (entry.sha256 === null) return null
  await mirrorFiles.recordUse(services, keyOf(key), entry.usedAt)
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

/** Returns how a document is fetched. */
const fetchOf = (
  services: MirrorServices,
  key: DocumentKey,
  known: Entry | undefined,
  { caller, isFact, newerThan }: Required<Pick<Asked, 'caller' | 'isFact'>> & Asked,
): Fetch => ({
  known,
  caller,
  isFact,
  patienceMs: timesOf(services).documentMs * 4,
  isSettled: (entry) => isCurrent(services, key.kind, entry, newerThan),
  request: (before) => requestDocument(services, key, before, caller),
  report: (error) => reportFailure(services, key, error),
  unavailable: (reason) => fetchFailed(services, reason),
})

/** Logs and records why a document was not fetched. */
function reportFailure(services: MirrorServices, key: DocumentKey, error: unknown): void {
  reportUnusable(services, key, error)
  // Failures of the server itself are logged once for all documents.
  if (!isTemporary(error) && !(error instanceof NotFetched && isAccessRejected(error.message)))
    services.log.warning(`the upstream server did not send ${pathOf(key)}: ${String(error)}`)
}

async function requestDocument(
  services: MirrorServices,
  key: DocumentKey,
  before: Entry | undefined,
  caller: string,
): ReturnType<Fetch['request']> {
  const { kind, name } = key
  const saved = kind === 'listing' ? await savedAges(services, name) : new Map<string, KnownAge>()
  const etag = before?.sha256 && saved ? before.etag : null
  const answer = await fetchDocument(services, pathOf(key), etag, documentLimits[kind].bytes)
  if (answer.status === 304) return 'unchanged'
  if (answer.status === 404) {
    const listing = kind === 'listing' ? null : await findEntry(services, { kind: 'listing', name })
    return { sha256: null, bytes: 0, isUnknown: !listing?.sha256 }
  }
  const known = kind === 'listing' && before?.sha256 ? await storedDocument(services, before.sha256) : null
  const pinned = kind === 'listing' ? await archiveHashes(services, name) : new Map<string, string>()
  const history = { now: services.now(), comparedAt: known === null ? null : (before?.checkedAt ?? null), versions: saved ?? new Map() }
  const upstreamUrl = services.config.UPSTREAM_URL ?? ''
  const task = { task: 'check', kind, name, document: answer.content, upstreamUrl, pinned, known, history } as const
  const { faults, content, ages } = await checkInThread(services, caller, task)
  reportFaults(services, name, faults)
  const sha256 = await mirrorFiles.keep(services, content)
  if (sha256 === null) throw new NotFetched('the disk is almost full')
  return { sha256, bytes: content.length, etag: answer.etag, ages }
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
