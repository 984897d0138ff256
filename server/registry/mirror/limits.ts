import { LRUCache } from 'lru-cache'
import { type ApiError, rateLimited, serviceUnavailable } from '../../errors.ts'
import { countFailures, type LimitName, type Limits, turnKey } from '../../platform/http/limits.ts'
import { createFairLimiter } from '../../platform/threads/fair-limiter.ts'
import type { MirrorServices } from './entries.ts'

const strangerPrefix = 'address '

/** Returns the key of a caller for turns and limits: the user, or the network of a stranger. Work of the server itself has an empty key. */
export const callerOf = ({ viewer, ip }: { viewer: { id: string } | null; ip: string }): string =>
  viewer?.id ?? `${strangerPrefix}${turnKey(ip)}`

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
    refusal: () => serviceUnavailable('Too many packages are being fetched from the upstream server. Try again in a moment.', 5),
  })

export const inTurn = openLimiter()
/** Archives have turns of their own, because they can take minutes. */
export const inTurnForArchive = openLimiter()

/** Work that several keys want done once. `turns`: waiting and running turns by key. */
type SharedWork<Result> = { isStarted: boolean; done: PromiseWithResolvers<Result>; turns: Map<string, Promise<unknown>> }
export type SharedWorks<Result> = Map<string, SharedWork<Result>>
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

/** How long at most a refused caller is refused again without looking at the limits, in milliseconds. This keeps refusals cheap. */
const refusedMs = 5000

/** @throws ApiError RateLimitExceeded if the caller was refused a moment ago */
export function refuseAgain({ state }: Limited, caller: string): void {
  const refusal = state.mirrorRefusals?.get(caller)
  if (refusal) throw refusal
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
  refuseAgain(services, caller)
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
      const refusal = rateLimited(retryAfter, what)
      const refusals = (state.mirrorRefusals ??= new LRUCache<string, ApiError>({ max: 10_000 }))
      refusals.set(caller, refusal, { ttl: Math.min(retryAfter * 1000, refusedMs) })
      throw refusal
    }
  }

declare module '../../services.ts' {
  interface State {
    /** Errors of callers that were refused a moment ago. */
    mirrorRefusals?: LRUCache<string, ApiError>
  }
}
