import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { serviceUnavailable } from '../../errors.ts'
import type { Config } from '../../platform/config/config.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import type { MirrorServices } from './entries.ts'
import type { MirrorKind } from './entity.ts'

/** Activity of the upstream server as seen by this process. */
export type UpstreamHealth = {
  requests: number
  failures: number
  bytes: number
  /** Total duration of the requests, in milliseconds. */
  latencyMs: number
  lastSuccessAt: Date | null
  lastFailureAt: Date | null
  lastFailure: string | null
  /** Since when no request was answered; null if the last one was. Status 429 and errors of the upstream server do not count as answers. */
  failingSince: Date | null
  /** Whether it was logged that the server does not answer. */
  isOutageLogged: boolean
  /** Paths for which this was logged, and which were not answered since. */
  loggedPaths: Set<string>
  /** Logged rejections of access, and the path of each. */
  loggedRejections: Map<string, string>
}

declare module '../../services.ts' {
  interface State {
    upstreamHealth?: UpstreamHealth
    /** Until when the upstream server wants no requests, as far as this process knows. */
    upstreamPausedUntil?: Date
    mirrorReads?: Partial<Record<MirrorKind, ReadCounts>>
  }
}

export const healthOf = ({ state }: Pick<MirrorServices, 'state'>): UpstreamHealth =>
  (state.upstreamHealth ??= {
    requests: 0,
    failures: 0,
    bytes: 0,
    latencyMs: 0,
    lastSuccessAt: null,
    lastFailureAt: null,
    lastFailure: null,
    failingSince: null,
    isOutageLogged: false,
    loggedPaths: new Set(),
    loggedRejections: new Map(),
  })

/** How long after a failure callers do not wait for the upstream server if the mirror has an older document, in milliseconds. */
const unreachableMs = 30_000

/** Returns whether the upstream server did not answer the last request, a moment ago. In a closed network, it never does. */
export function isUnreachable(services: MirrorServices): boolean {
  const { failingSince, lastFailureAt } = healthOf(services)
  return failingSince !== null && lastFailureAt !== null && services.now().getTime() - lastFailureAt.getTime() < unreachableMs
}

/** Failure for status 401 or 403. Names the setting to correct. */
export const accessRejected = ({ UPSTREAM_URL, UPSTREAM_TOKEN }: Pick<Config, 'UPSTREAM_URL' | 'UPSTREAM_TOKEN'>, status: 401 | 403) =>
  new NotFetched(
    UPSTREAM_TOKEN === undefined
      ? `status ${status}: an administrator of this server must set UPSTREAM_TOKEN to an access token of ${UPSTREAM_URL}`
      : `status ${status}: ${UPSTREAM_URL} does not accept UPSTREAM_TOKEN${status === 403 ? ' for this' : ''}; an administrator of this server must check it`,
    { status },
  )

/** Whether a failure, or the text of one, was caused by missing access to the upstream server. Trying again does not help. */
export const isAccessRejected = (failure: string | null | undefined): boolean => failure?.includes('UPSTREAM_TOKEN') === true

/** Failure for status 401 or 403 of the upstream server, or of another host of archives. */
export const archiveRejected = (config: Pick<Config, 'UPSTREAM_URL' | 'UPSTREAM_TOKEN'>, status: 401 | 403, url: string): NotFetched =>
  url.startsWith(`${config.UPSTREAM_URL}/`)
    ? accessRejected(config, status)
    : new NotFetched(`status ${status}: ${new URL(url).host} ${rejectsArchive}`, { status })

const rejectsArchive = 'refuses access to it'

/** Whether an archive was not sent because of missing access to its host. */
export const isArchiveRejected = (failure: string | null | undefined): boolean =>
  isAccessRejected(failure) || failure?.includes(rejectsArchive) === true

/** Maximum number of paths of which failures are not logged again. */
const maxLoggedPaths = 1000

/**
 * Logs that a request for a document failed if the upstream server has stopped answering such requests. Failures of single documents are not logged
 * in the meantime, and not again while others are answered. Faults of archives are reported one by one (`reportFaults`).
 */
export function logOutage(services: MirrorServices, path: string, error: unknown): void {
  if (!(error instanceof NotFetched) || services.stopping.signal.aborted) return
  const { log } = services
  const { message } = error
  const health = healthOf(services)
  if (isAccessRejected(message)) {
    if (health.loggedRejections.has(message)) return
    health.loggedRejections.set(message, path)
    log.warning(`the upstream server of the mirror refuses access: ${message}`)
  } else if (isTemporary(error) && !(error instanceof UpstreamPaused) && !health.isOutageLogged && !health.loggedPaths.has(path)) {
    health.isOutageLogged = true
    if (health.loggedPaths.size < maxLoggedPaths) health.loggedPaths.add(path)
    log.warning(`the upstream server of the mirror does not answer: ${message}`)
  }
}

/** Logs that the upstream server answers requests for documents again, if it did not. */
export function logAnswer(services: MirrorServices, path: string): void {
  const health = healthOf(services)
  const ended = [...health.loggedRejections].filter(([, refused]) => refused === path)
  if (health.isOutageLogged || ended.length > 0) services.log.info('the upstream server of the mirror answers again')
  health.isOutageLogged = false
  health.loggedPaths.delete(path)
  for (const [message] of ended) health.loggedRejections.delete(message)
}

/** Whether the failure is one of the upstream server rather than of what was requested. */
export const isTemporary = (error: unknown): error is NotFetched => error instanceof NotFetched && error.isTemporary

/** Counts a request to the upstream server. One of the returned functions is called when it has ended. */
export function countRequest({ now, state }: Pick<MirrorServices, 'now' | 'state'>) {
  const health = healthOf({ state })
  health.requests++
  const started = performance.now()
  const end = () => void (health.latencyMs += performance.now() - started)
  return {
    received: (bytes: number) => void (health.bytes += bytes),
    succeeded(): void {
      end()
      health.lastSuccessAt = now()
      health.failingSince = null
    },
    failed(error: unknown): void {
      end()
      health.failures++
      health.lastFailureAt = now()
      health.lastFailure = error instanceof Error ? error.message : String(error)
      if (isTemporary(error) || isAccessRejected(health.lastFailure)) health.failingSince ??= now()
    },
  }
}

/** How a request to the mirror ended: without or with a request upstream, with a document that is older than it should be, or with status 403. */
export type ReadResult = 'hit' | 'miss' | 'stale' | 'refused'
export type ReadCounts = Record<ReadResult, number>

/** Counts a read of the mirror by this process. */
export function countRead({ state }: Pick<MirrorServices, 'state'>, kind: MirrorKind, result: ReadResult): void {
  const counts = (state.mirrorReads ??= {})
  const ofKind = (counts[kind] ??= { hit: 0, miss: 0, stale: 0, refused: 0 })
  ofKind[result]++
}

/** Files that this process has read from the mirror since it started, and how many of them needed no request to the upstream server. */
export function readsOf({ state }: Pick<MirrorServices, 'state'>): { reads: number; hits: number } {
  const all = Object.values(state.mirrorReads ?? {})
  const sum = (count: (counts: ReadCounts) => number) => all.reduce((total, counts) => total + count(counts), 0)
  return { reads: sum(({ hit, miss, stale }) => hit + miss + stale), hits: sum(({ hit }) => hit) }
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
