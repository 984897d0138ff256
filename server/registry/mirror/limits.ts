import { LRUCache } from 'lru-cache'
import { type ApiError, rateLimited, serviceUnavailable } from '../../errors.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { countFailures, type LimitName, type Limits, fairQueueKey } from '../../platform/http/limits.ts'
import { createFairLimiter, type FairLimiter } from '../../platform/threads/fair-limiter.ts'
import {
  claim,
  confirmEntry,
  type Entry,
  type EntryKey,
  type Fetched,
  findEntry,
  keepClaim,
  keyOf,
  type MirrorServices,
  releaseClaim,
  saveEntry,
  saveFailure,
} from './entries.ts'
import { pausedError, requireNoPause, UpstreamPaused } from './health.ts'

const strangerPrefix = 'address '

/** Returns the key of a caller for turns and limits: the user, or the network of a stranger. Work of the server itself has an empty key. */
export const callerOf = ({ viewer, ip }: { viewer: { id: string } | null; ip: string }): string =>
  viewer?.id ?? `${strangerPrefix}${fairQueueKey(ip)}`

const isStranger = (caller: string): boolean => caller.startsWith(strangerPrefix)

/**
 * Runs requests to the upstream server, usually at most 32 at once, of which one caller has at most 16, and all strangers together as well. The first
 * request of a caller does not wait for those of another one.
 */
const openLimiter = () =>
  createFairLimiter({
    atOnce: 32,
    sharing: { firsts: 16, groupPlaces: 16, isInGroup: isStranger },
    waiting: 5000,
    waitingPerKey: 1000,
    maxWaitMs: 30_000,
    rejection: () => serviceUnavailable('Too many packages are being fetched from the upstream server. Try again in a moment.', 5),
  })

/** Returns the turns for requests to the upstream server. Archives have turns of their own, because they can take minutes. */
export const upstreamTurns = ({ state }: Pick<MirrorServices, 'state'>): { documents: FairLimiter; archives: FairLimiter } =>
  (state.upstreamTurns ??= { documents: openLimiter(), archives: openLimiter() })

/** Work that several keys want done once. `turns`: waiting and running turns by key. */
type SharedWork<Result> = { isStarted: boolean; done: PromiseWithResolvers<Result>; turns: Map<string, Promise<unknown>> }
type SharedWorks<Result> = Map<string, SharedWork<Result>>
/** `inTurn` runs a function in a turn of `key`. The function resolves to the result, or to undefined if the work was done in another turn or failed. */
type Turn<Result> = { id: string; key: string; inTurn: (key: string, work: () => Promise<Result | undefined>) => Promise<unknown> }

/**
 * Does work once for all concurrent callers with the same `id`, in the first turn that one of their keys gets. So no caller waits for the turn of
 * another one. @throws the error of the work, or that of `inTurn` if the key gets no turn.
 */
export async function shareTurn<Result>(
  works: SharedWorks<Result>,
  { id, key, inTurn }: Turn<Result>,
  work: () => Promise<Result>,
): Promise<Result> {
  const shared: SharedWork<Result> = works.get(id) ?? { isStarted: false, done: Promise.withResolvers(), turns: new Map() }
  works.set(id, shared)
  const { done, turns } = shared
  const forget = () => void (works.get(id) === shared && works.delete(id))
  async function begin(): Promise<Result | undefined> {
    if (shared.isStarted) return undefined
    shared.isStarted = true
    await work().then(done.resolve, done.reject).finally(forget)
    return done.promise.catch(() => undefined)
  }
  if (!shared.isStarted && !turns.has(key)) {
    const turn = inTurn(key, begin).finally(() => {
      turns.delete(key)
      if (turns.size === 0 && !shared.isStarted) forget()
    })
    turns.set(key, turn)
  }
  return Promise.race([done.promise, turns.get(key)?.then(() => done.promise) ?? done.promise])
}

type Limited = Pick<MirrorServices, 'limits' | 'state'>

/** How long at most a rejected caller is rejected again without looking at the limits, in milliseconds. This keeps rejections cheap. */
const rejectedMs = 5000

/** @throws ApiError RateLimitExceeded if the caller was rejected a moment ago */
function rejectAgain({ state }: Limited, caller: string): void {
  const rejection = state.mirrorRejections?.get(caller)
  if (rejection) throw rejection
}

/**
 * Counts a request to the upstream server against the limits of a caller. Names that the upstream server does not have count against a smaller limit,
 * too; `isUnknown` recognizes them. Commands and work of the server itself have no limits.
 * @throws ApiError RateLimitExceeded
 */
export async function withinLimits<Result>(
  services: Limited,
  caller: string,
  work: () => Promise<Result>,
  isUnknown: (result: Result) => boolean = () => false,
): Promise<Result> {
  const { limits, state } = services
  if (!limits || caller === '') return work()
  rejectAgain(services, caller)
  const [counted, buckets] = [remembering(state, caller), limits]
  if (!isStranger(caller)) {
    await counted(() => limits.use('mirrorFetch', caller), fetches)
    return failing('mirrorUnknown', caller, work)
  }
  await counted(() => limits.use('mirrorFetchAddress', caller), fetches)
  await counted(() => limits.use('mirrorFetchOpen', 'all'), fetches)
  return failing('mirrorUnknownAddress', caller, () => failing('mirrorUnknownOpen', 'all', work))

  function failing(name: LimitName, key: string, judge: () => Promise<Result>): Promise<Result> {
    const use: Limits['use'] = (...bucket) => counted(() => buckets.use(...bucket), unknownNames)
    return countFailures({ ...buckets, use }, name, key, judge, isUnknown)
  }
}

const fetches = 'Too many packages are requested from the upstream server.'
const unknownNames = 'Too many packages were requested that the upstream server does not have.'

/** Names what was counted in the error for an empty bucket, and remembers the error. */
const remembering =
  (state: MirrorServices['state'], caller: string) =>
  async <Result>(use: () => Promise<Result>, what: string): Promise<Result> => {
    try {
      return await use()
    } catch (error) {
      const { code, retryAfter } = error as Partial<ApiError>
      if (code !== 'RateLimitExceeded' || retryAfter === undefined) throw error
      const rejection = rateLimited(retryAfter, what)
      const rejections = (state.mirrorRejections ??= new LRUCache<string, ApiError>({ max: 10_000 }))
      rejections.set(caller, rejection, { ttl: Math.min(retryAfter * 1000, rejectedMs) })
      throw rejection
    }
  }

declare module '../../services.ts' {
  interface State {
    upstreamTurns?: { documents: FairLimiter; archives: FairLimiter }
    /** Errors of callers that were rejected a moment ago. */
    mirrorRejections?: LRUCache<string, ApiError>
    /** Files that this process is fetching, by key. The result is null if another instance is fetching the file. */
    mirrorFetches?: SharedWorks<Done | null>
  }
}

/** How a file of the upstream server is fetched, and for whom. */
export type Fetch = {
  /** The row of the file, as the caller has read it. */
  known: Entry | undefined
  caller: string
  /** Whether the server itself needs the file, so that the limits of the caller do not apply. */
  isFact: boolean
  /** How long the fetch of another instance is waited for, in milliseconds. */
  patienceMs: number
  /** Whether a row needs no request: the file is current, or could not be fetched a moment ago. */
  isSettled: (entry: Entry) => boolean
  /** Requests the file and stores its content. `isUnknown`: as far as the mirror knows, the upstream server does not have the package either. */
  request: (known: Entry | undefined) => Promise<'unchanged' | (Fetched & { isUnknown?: boolean })>
  /** Logs and records why a request failed. */
  report: (error: unknown) => void
  /** Returns the error for callers if the upstream server did not send the file. */
  unavailable: (reason: string, status?: number) => ApiError
}

type Done = { entry: Entry; isUnknown: boolean }

/** How often a caller looks whether another instance has fetched a file. */
const pollMs = 150

/**
 * Fetches a file in the turn of the caller, once for all callers and instances, and returns its row. One instance claims the file and saves how the
 * request ended, the others wait for that.
 * @throws ApiError ServiceUnavailable also if another instance holds the claim for longer than any request takes.
 */
export async function fetchOnce(services: MirrorServices, key: EntryKey, fetch: Fetch): Promise<Entry> {
  const { caller, isFact, isSettled } = fetch
  const works: SharedWorks<Done | null> = (services.state.mirrorFetches ??= new Map<string, never>())
  const { documents, archives } = upstreamTurns(services)
  const ofKind = key.kind === 'archive' ? archives : documents
  const turn = {
    id: keyOf(key),
    key: caller,
    inTurn: (by: string, work: () => Promise<Done | null | undefined>) =>
      ofKind(by, () => withinLimits(services, isFact ? '' : by, work, (done) => done?.isUnknown === true)),
  }
  let entry = fetch.known
  for (let waited = 0; !(entry && isSettled(entry)); waited += pollMs) {
    if (waited > fetch.patienceMs) throw fetch.unavailable('another instance is still fetching it')
    const isShared = works.has(turn.id)
    const isElsewhere = !isShared && entry?.leasedUntil && entry.leasedUntil >= services.now()
    if (!isElsewhere) {
      if (!isShared) await requireNoRejection(services, fetch)
      const done = await shareTurn(works, turn, () => fetchClaimed(services, key, fetch))
      if (done) return done.entry
    }
    await new Promise((resolve) => void setTimeout(resolve, pollMs))
    entry = await findEntry(services, key)
  }
  return entry
}

/** @throws ApiError if the caller was refused a moment ago, or the upstream server wants no requests. */
async function requireNoRejection(services: MirrorServices, { caller, isFact }: Fetch): Promise<void> {
  if (!isFact) rejectAgain(services, caller)
  await requireNoPause(services).catch((error: unknown) => {
    throw error instanceof UpstreamPaused ? pausedError(services, error) : error
  })
}

/** Fetches a file unless another instance is fetching it: then returns null. @throws ApiError */
async function fetchClaimed(services: MirrorServices, key: EntryKey, { isSettled, request, ...fetch }: Fetch): Promise<Done | null> {
  if (!(await claim(services, key))) return null
  const endRenewal = keepClaim(services, key)
  try {
    const known = await findEntry(services, key)
    // Another instance may have fetched it before the claim.
    if (known && isSettled(known)) return await releaseClaim(services, key).then(() => ({ entry: known, isUnknown: false }))
    const fetched = await request(known)
    if (fetched === 'unchanged') await confirmEntry(services, key)
    else await saveEntry(services, key, fetched)
    const entry = await findEntry(services, key)
    if (!entry) throw fetch.unavailable('it was removed from the mirror')
    return { entry, isUnknown: fetched !== 'unchanged' && fetched.isUnknown === true }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof UpstreamPaused) await releaseClaim(services, key)
    else await saveFailure(services, key, reason)
    if (error instanceof UpstreamPaused) throw pausedError(services, error)
    fetch.report(error)
    throw error instanceof NotFetched ? fetch.unavailable(reason, error.status) : error
  } finally {
    endRenewal()
  }
}
