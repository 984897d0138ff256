import { LRUCache } from 'lru-cache'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { type ApiError, rateLimited, serviceUnavailable } from '../../errors.ts'
import { countFailures, type LimitName, type Limits, fairQueueKey } from '../../platform/http/limits.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { createFairLimiter } from '../../platform/threads/fair-limiter.ts'
import type { MirrorServices } from './entries.ts'

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

/** How long at most a rejected caller is rejected again without looking at the limits, in milliseconds. This keeps rejections cheap. */
const rejectedMs = 5000

/** @throws ApiError RateLimitExceeded if the caller was rejected a moment ago */
export function rejectAgain({ state }: Limited, caller: string): void {
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
    /** Errors of callers that were rejected a moment ago. */
    mirrorRejections?: LRUCache<string, ApiError>
    /** Until when the upstream server wants no requests, as far as this process knows. */
    upstreamPausedUntil?: Date
  }
}

/** Until when the upstream server wants no requests; null if it never said so. All instances heed it. */
const upstreamPause: Setting<{ until: string | null }> = {
  key: 'mirror_pause',
  schema: z.object({ until: z.string().nullable() }),
  initial: { until: null },
}

/** Thrown while the upstream server wants no requests. */
export class UpstreamPaused extends NotFetched {
  readonly until: Date

  constructor(until: Date) {
    super(`it wants no requests until ${time(until)}`, { isTemporary: true })
    this.until = until
  }
}

const time = (moment: Date): string => `${moment.toISOString().slice(11, 19)} UTC`

/** The error for a caller whose request must wait until the upstream server wants requests again. */
export const pausedError = ({ config, now }: Pick<MirrorServices, 'config' | 'now'>, { until }: UpstreamPaused) =>
  serviceUnavailable(
    `${config.UPSTREAM_URL} has received too many requests and wants no more until ${time(until)}.`,
    Math.max(1, Math.ceil((until.getTime() - now().getTime()) / 1000)),
  )

/** @throws UpstreamPaused while the upstream server wants no requests. */
export async function requireNoPause(services: MirrorServices): Promise<void> {
  const until = await pausedUntil(services)
  if (until) throw new UpstreamPaused(until)
}

async function pausedUntil({ database, now, state }: MirrorServices): Promise<Date | null> {
  const { until } = await readSetting(database.reads, upstreamPause)
  const latest = Math.max(state.upstreamPausedUntil?.getTime() ?? 0, until === null ? 0 : Date.parse(until))
  return latest > now().getTime() ? new Date(latest) : null
}

/** Pauses in seconds: for status 429 without a usable Retry-After, and the longest one. */
const [usualPause, maxPause] = [10, 3600]

/**
 * Passes a response of the upstream server on, unless it asks for fewer requests: with status 429, or 503 with Retry-After. Then no instance sends it
 * anything for that time, but for an hour at most.
 * @throws UpstreamPaused
 */
export async function heedPause(services: MirrorServices, answer: IncomingMessage): Promise<IncomingMessage> {
  const stated = answer.statusCode === 429 || answer.statusCode === 503 ? secondsOf(answer.headers['retry-after'], services.now()) : null
  const seconds = stated ?? (answer.statusCode === 429 ? usualPause : null)
  if (seconds === null) return answer
  answer.destroy()
  const { database, log, now, state } = services
  const before = await pausedUntil(services)
  const until = new Date(now().getTime() + Math.min(Math.max(seconds, 1), maxPause) * 1000)
  if (before && before >= until) throw new UpstreamPaused(before)
  state.upstreamPausedUntil = until
  if (!before) log.warning(`the upstream server of the mirror wants no requests until ${time(until)} (status ${answer.statusCode})`)
  await database
    .fork()
    .transactional((em) => writeSetting(em, upstreamPause, { until: until.toISOString() }))
    .catch((error: unknown) => log.warning(`other instances do not know of the pause: ${String(error)}`))
  throw new UpstreamPaused(until)
}

/** Reads Retry-After: seconds, or one of the date forms of HTTP, which are all in GMT. Returns null for anything else. */
export function secondsOf(text: string | undefined, now: Date): number | null {
  const value = text?.trim() ?? ''
  if (/^\d+$/.test(value)) return Number(value)
  if (!/^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/.test(value)) return null
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
  return Number.isNaN(at) ? null : Math.ceil((at - now.getTime()) / 1000)
}
