import type { Config } from '../../platform/config/config.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import type { MirrorServices } from './entries.ts'
import type { MirrorKind } from './entity.ts'
import { requireNoPause, UpstreamPaused } from './limits.ts'

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

/**
 * Runs a request for a document, and logs when the upstream server stops and starts to answer such requests. Failures of single
 * documents are not logged in the meantime, and not again while others are answered. Faults of archives are reported one by one (`reportFaults`).
 */
export async function withOutageLog<Result>(services: MirrorServices, path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await work()
    logAnswer(services, path)
    return result
  } catch (error) {
    if (error instanceof NotFetched && !services.stopping.signal.aborted) logOutage(services, path, error)
    throw error
  }
}

/** Maximum number of paths of which failures are not logged again. */
const maxLoggedPaths = 1000

function logOutage(services: MirrorServices, path: string, error: NotFetched): void {
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

function logAnswer(services: MirrorServices, path: string): void {
  const health = healthOf(services)
  const ended = [...health.loggedRejections].filter(([, refused]) => refused === path)
  if (health.isOutageLogged || ended.length > 0) services.log.info('the upstream server of the mirror answers again')
  health.isOutageLogged = false
  health.loggedPaths.delete(path)
  for (const [message] of ended) health.loggedRejections.delete(message)
}

/** Whether the failure is one of the upstream server rather than of what was requested. */
export const isTemporary = (error: unknown): error is NotFetched => error instanceof NotFetched && error.isTemporary

/** Runs a request and counts it. @throws UpstreamPaused if the upstream server wants no requests */
export async function measured<Result>(services: MirrorServices, work: () => Promise<Result>): Promise<Result> {
  await requireNoPause(services)
  const health = healthOf(services)
  health.requests++
  const started = performance.now()
  try {
    const result = await work()
    health.lastSuccessAt = services.now()
    health.failingSince = null
    return result
  } catch (error) {
    health.failures++
    health.lastFailureAt = services.now()
    health.lastFailure = error instanceof Error ? error.message : String(error)
    if (isTemporary(error) || isAccessRejected(health.lastFailure)) health.failingSince ??= services.now()
    throw error
  } finally {
    health.latencyMs += performance.now() - started
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
