import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { unpackedBytes } from '../../platform/http/caching/compression.ts'
import { ownTurn } from '../../platform/http/turn-end.ts'
import { publicOnly } from '../../platform/outbound/addresses.ts'
import { NotFetched, orTemporary, readContent, requestUrl, watchPace } from '../../platform/outbound/request.ts'
import type { MirrorServices } from './entries.ts'
import { accessRejected, countRequest, heedPause, logAnswer, logOutage, requireNoPause } from './health.ts'

/** Limits of requests to the upstream server. Times are in milliseconds. */
export type UpstreamTimes = { documentMs: number; archiveHeadersMs: number; archiveMs: number; pace: { bytes: number; ms: number } }

declare module '../../services.ts' {
  interface State {
    /** Replaces the time limits of the upstream server. */
    upstreamTimes?: UpstreamTimes
  }
}

const usualTimes: UpstreamTimes = {
  documentMs: 15_000,
  archiveHeadersMs: 15_000,
  archiveMs: 15 * 60_000,
  pace: { bytes: 64 * 1024, ms: 30_000 },
}

export const timesOf = ({ state }: Pick<MirrorServices, 'state'>): UpstreamTimes => state.upstreamTimes ?? usualTimes

/** A response with a document, or without one: not modified since `etag`, or not there. */
type Answer = { status: 200; content: Buffer; etag: string | null } | { status: 304 } | { status: 404 }

/**
 * Requests a JSON document of the upstream server by its path. `limit`: its largest size in bytes, uncompressed.
 * @throws NotFetched if the server cannot be reached in time, or answers with anything but 200, 304, 404 and 410.
 */
export async function fetchDocument(services: MirrorServices, path: string, etag: string | null, limit: number): Promise<Answer> {
  const { config } = services
  const headers = {
    accept: 'application/vnd.pub.v2+json, application/json',
    'accept-encoding': 'gzip',
    ...(etag !== null && { 'if-none-match': etag }),
  }
  const wanted = { url: `${config.UPSTREAM_URL}${path}`, isArchive: false, headers, ms: timesOf(services).documentMs }
  try {
    const answer = await exchange(services, wanted, async (response, received): Promise<Answer> => {
      const status = response.statusCode ?? 0
      if (status === 304 && etag !== null) return { status }
      if (status === 404 || status === 410) return { status: 404 }
      if (status === 401 || status === 403) throw accessRejected(config, status)
      if (status !== 200) throw new NotFetched(`status ${status}`, { isTemporary: status === 429 || status >= 500, status })
      return { status, content: await contentOf(response, limit, received), etag: response.headers.etag?.slice(0, 255) ?? null }
    })
    logAnswer(services, path)
    return answer
  } catch (error) {
    logOutage(services, path, error)
    throw error
  }
}

/**
 * Requests an archive by its URL, which a listing states, and reads the response. `ms`: the longest time that this may take; `pace`: how fast the archive
 * must arrive. `renewUrl` returns another URL to try after a failure, or null.
 * @throws NotFetched, UpstreamPaused, and the errors of `read`
 */
export function requestArchive<Result>(
  services: MirrorServices,
  wanted: Omit<Wanted, 'headers' | 'isArchive'>,
  read: Read<Result>,
): Promise<Result> {
  return exchange(
    services,
    { ...wanted, isArchive: true, headers: { accept: 'application/octet-stream, */*', 'accept-encoding': 'identity' } },
    read,
  )
}

type Wanted = Pick<Options, 'headers'> & {
  url: string
  /** Whether the host of the URL is one of archives. */
  isArchive: boolean
  ms: number
  pace?: UpstreamTimes['pace']
  renewUrl?: (error: NotFetched) => Promise<string | null>
}
/** Reads a response, and reports the number of bytes that have arrived. */
type Read<Result> = (response: IncomingMessage, received: (bytes: number) => void) => Promise<Result>

/** Sends a request to the upstream server, reads the response, and counts both. @throws NotFetched, UpstreamPaused, and the errors of `read` */
async function exchange<Result>(services: MirrorServices, wanted: Wanted, read: Read<Result>): Promise<Result> {
  await requireNoPause(services)
  const { received, succeeded, failed } = countRequest(services)
  const send = (url: string) =>
    sendOnce(services, { ...wanted, url }, (response, count) => read(response, (bytes) => (received(bytes), count(bytes))))
  try {
    const result = await send(wanted.url).catch(async (error: unknown) => {
      const renewed = error instanceof NotFetched ? ((await wanted.renewUrl?.(error)) ?? null) : null
      if (renewed === null) throw error
      return send(renewed)
    })
    succeeded()
    return result
  } catch (error) {
    failed(error)
    throw error
  }
}

async function sendOnce<Result>(
  services: MirrorServices,
  { url, isArchive, headers, ms, pace }: Wanted,
  read: Read<Result>,
): Promise<Result> {
  const outer = AbortSignal.any([AbortSignal.timeout(ms), services.stopping.signal])
  const watch = pace && watchPace(outer, pace)
  try {
    const options = { headers, signal: watch?.signal ?? outer, archiveHost: isArchive ? new URL(url).host : undefined }
    const response = await heedPause(services, await requestUpstream(services, url, options))
    return await orTemporary(url, () => read(response, (bytes) => watch?.received(bytes))).finally(() => response.destroy())
  } catch (error) {
    throw watch?.signal.aborted ? new NotFetched(String(watch.signal.reason), { isTemporary: true, cause: error }) : error
  } finally {
    watch?.end()
  }
}

type Options = {
  headers: Record<string, string>
  signal: AbortSignal
  /** The host of archives according to the listing, which may be contacted and redirected to. */
  archiveHost?: string | undefined
}

/**
 * Sends a request to the upstream server or the host of its archives. Follows redirects only to these, and not from https to http. Addresses must be
 * public, except of the server at UPSTREAM_URL and of UPSTREAM_ARCHIVE_HOSTS, which an operator chose; redirects to the latter may also be http. Sends
 * UPSTREAM_TOKEN only to URLs below UPSTREAM_URL.
 * @throws NotFetched
 */
export async function requestUpstream({ config }: Pick<MirrorServices, 'config'>, url: string, options: Options): Promise<IncomingMessage> {
  const { archiveHost, headers, signal } = options
  const { UPSTREAM_URL = '', UPSTREAM_TOKEN, UPSTREAM_ARCHIVE_HOSTS } = config
  const upstream = new URL(UPSTREAM_URL)
  const isArchiveHost = (to: URL) => archiveHost !== undefined && UPSTREAM_ARCHIVE_HOSTS.some((entry) => isAt(to, entry))
  const sites = [upstream.host, ...(archiveHost === undefined ? [] : [archiveHost, ...knownArchiveHosts(upstream)])]
  return requestUrl(url, {
    servers: config.DNS_SERVERS,
    proxies: config,
    isConfigured: (to) => (to.hostname === upstream.hostname && portOf(to) === portOf(upstream)) || isArchiveHost(to),
    isAllowed: publicOnly,
    headers: { ...headers, 'user-agent': 'Snug mirror' },
    authorization: UPSTREAM_TOKEN === undefined ? null : { value: `Bearer ${UPSTREAM_TOKEN}`, isFor: (to) => isBelow(to, upstream) },
    signal,
    mayRedirect: (from, to) =>
      isArchiveHost(to) ||
      (sites.some((site) => isOfSite(to.host, site)) && (to.protocol === 'https:' || (from.protocol === 'http:' && !isArchiveHost(from)))),
  }).catch((error: unknown) => {
    throw archiveHost !== undefined && error instanceof NotFetched && /may not be contacted|which is not allowed/.test(error.message)
      ? new NotFetched(`${error.message}: add the host to UPSTREAM_ARCHIVE_HOSTS if archives come from there`, { cause: error })
      : error
  })
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80')

/** Whether a URL has this host, and this port, or without one the port 80 or 443. */
const isAt = (url: URL, entry: string): boolean =>
  ['http:', 'https:'].some((scheme) => {
    const wanted = new URL(`${scheme}//${entry}`)
    return wanted.hostname === url.hostname && portOf(wanted) === portOf(url)
  })

/** Whether a URL is below another one, also for a server that decodes its path once more. */
function isBelow({ origin, pathname }: URL, base: URL): boolean {
  const prefix = base.pathname.replace(/\/*$/, '/')
  return origin === base.origin && pathname.startsWith(prefix) && !/%(2e|2f|5c|25)/i.test(pathname)
}

const isOfSite = (host: string, site: string) => host === site || host.endsWith(`.${site}`)

/** pub.dev redirects requests for archives to Google Cloud Storage. */
const knownArchiveHosts = ({ hostname }: URL): string[] => (hostname === 'pub.dev' ? ['storage.googleapis.com'] : [])
async function contentOf(answer: IncomingMessage, limit: number, received: (bytes: number) => void): Promise<Buffer> {
  const encoding = answer.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip') throw new NotFetched(`the content has the encoding ${encoding}`)
  const body = await readContent(answer, limit, (bytes) => {
    received(bytes)
    return ownTurn()
  })
  if (encoding === 'identity') return body
  // The last bytes usually state the size. Content in one chunk need not be copied.
  const chunkSize = Math.max(16 * 1024, Math.min(unpackedBytes(body), limit) + 1)
  return unzip(body, { maxOutputLength: limit, chunkSize }).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? new NotFetched(`the document has more than ${limit} bytes`)
      : error
  })
}

const unzip = promisify<Buffer, { maxOutputLength: number; chunkSize: number }, Buffer>(gunzip)
