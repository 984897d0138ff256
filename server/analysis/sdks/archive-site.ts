import type { IncomingMessage, RequestOptions } from 'node:http'
import { type ApiError, serviceUnavailable } from '../../errors.ts'
import { lookup } from 'node:dns'
import { once } from 'node:events'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { isPublicAddress } from '../../platform/outbound/addresses.ts'
import { parseAddress } from '../../platform/http/client-address.ts'
import { openAgent, proxyFor, type ProxySettings } from '../../platform/outbound/proxy.ts'
import { explainProxyFailure, requireProxyAccess } from '../../platform/outbound/request.ts'
import { compareParsed, parseVersion } from '../../platform/pub/version.ts'
import type { SdkChannel, SdkKind } from './entity.ts'

const maxRedirects = 5
const redirects = new Set([301, 302, 303, 307, 308])

type Options = { proxies: ProxySettings; headers?: Record<string, string>; signal: AbortSignal }

/**
 * Requests a file of an SDK archive. Follows redirects only to the archive's own host, and to a private address only if the archive has one. @throws
 * Error when the archive cannot be reached or redirects to another host; the reason of `signal`, which also stops the body.
 */
export async function requestFile(address: string, { proxies, headers = {}, signal }: Options): Promise<IncomingMessage> {
  const options = { headers: { ...headers, 'accept-encoding': 'identity' }, signal }
  let url = requireHttp(address)
  let response = await send(url, proxies, options)
  const { remoteAddress } = response.socket
  const isPrivateArchive = !proxyFor(proxies, url) && remoteAddress !== undefined && isPrivate(remoteAddress)
  for (let followed = 0; redirects.has(response.statusCode ?? 0) && response.headers.location; followed++) {
    response.destroy()
    if (followed === maxRedirects) throw new Error(`it redirects more than ${maxRedirects} times`)
    url = redirectTarget(url, response.headers.location)
    response = await send(url, proxies, isPrivateArchive ? options : { ...options, agent: false, lookup: lookupPublic })
  }
  return response
}

/** Sends a request directly or through a proxy, which resolves the host itself. */
async function send(url: URL, proxies: ProxySettings, direct: RequestOptions & { signal: AbortSignal }): Promise<IncomingMessage> {
  const { signal, headers } = direct
  signal.throwIfAborted()
  // Imported lazily: importing named exports of node:http also loads the platform's fetch, which would slow down every server start.
  const { request: requestOver } = url.protocol === 'https:' ? https : await import('node:http')
  const agent = await openAgent(proxies, url)
  const request = requestOver(url, agent ? { headers, signal, agent } : direct)
  // Ignores request errors after the response has started: the response stream emits these too.
  request.on('error', () => {}).end()
  try {
    const [response] = (await once(request, 'response', { signal })) as [IncomingMessage]
    requireProxyAccess(proxies, url, response)
    return response
  } catch (error) {
    throw signal.aborted ? signal.reason : explainProxyFailure(proxies, url, error)
  }
}

function requireHttp(address: string): URL {
  const url = new URL(address)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password)
    throw new Error('its address is not http or https, or contains a password')
  return url
}

/** Resolves the target of a redirect. @throws Error unless the target has the same origin, or the same host with https on the same port or 443. */
export function redirectTarget(from: URL, location: string): URL {
  const to = URL.canParse(location, from) ? new URL(location, from) : null
  const isSameSite =
    to && (to.origin === from.origin || (to.protocol === 'https:' && to.hostname === from.hostname && ['', from.port].includes(to.port)))
  if (!isSameSite || to.username || to.password)
    throw new Error(`it redirects to ${JSON.stringify(location.slice(0, 200))}, which is not on the same host`)
  return to
}

export function isPrivate(address: string): boolean {
  // A dual-stack socket reports IPv4 addresses as IPv6.
  return !isPublicAddress(parseAddress(address)?.toString() ?? '')
}

/** Resolves a host name with the signature of `dns.lookup`. Fails if any of the resolved addresses is private. */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, options, (error, found, family) => {
    const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address)
    const refused = addresses.find(isPrivate)
    callback(
      error ?? (refused === undefined ? null : new Error(`it redirects to ${hostname}, which has a private address now`)),
      found,
      family,
    )
  })
}

/** A website that offers SDK archives: its display name, its URL, and the setting that contains the URL. */
export type Site = { name: string; url: string; variable: string; proxies: ProxySettings }

const timeoutMs = 15_000

/** Maximum size of a listing of SDK releases, in bytes. */
export const maxListing = 8 * 1024 ** 2
const maxNote = 64 * 1024

type ReadOptions = {
  maxBytes?: number
  /** Aborts the request when a time limit shared by several requests expires. */
  deadline?: AbortSignal
}

/** Reads a small text file from an archive site. Returns null on 404. @throws ApiError ServiceUnavailable on any other failure. */
export async function readFrom(site: Site, address: string, { maxBytes = maxNote, deadline }: ReadOptions = {}): Promise<string | null> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = deadline ? AbortSignal.any([timeout, deadline]) : timeout
  let response: IncomingMessage | undefined
  try {
    response = await requestFile(address, { proxies: site.proxies, signal })
    if (response.statusCode === 404) return null
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`)
    return await textOf(response, maxBytes)
  } catch (error) {
    throw siteUnavailable(site, signal.aborted ? signal.reason : error)
  } finally {
    response?.destroy()
  }
}

/** Returns a 503 error for an unusable site. The message contains the site's URL and the setting that changes it. */
export const siteUnavailable = ({ name, url, variable }: Omit<Site, 'proxies'>, error: unknown): ApiError =>
  serviceUnavailable(
    `The ${name} at ${url} cannot be read: ${requestFailureReason(error)}. Check the network, or set ${variable} to a mirror.`,
    60,
  )

/** Returns a readable reason for a failed request. */
export function requestFailureReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no response in time'
  // AggregateError, thrown after several addresses were tried, has a code but no message.
  return error.message || String((error as NodeJS.ErrnoException).code)
}

async function textOf(body: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`its answer is longer than ${maxBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

export type Release = {
  kind: SdkKind
  version: string
  channel: SdkChannel
  /** Null when the archive does not state the date. */
  publishedAt: Date | null
  /** Version of the included Dart SDK. */
  dartVersion: string | null
}

/** URL and checksum of a release's archive for this platform. */
export type Download = { url: string; sha256: string }

/** Maximum number of releases listed per channel. Older releases can still be installed by version. */
const maxListed = 100

/** Returns the newest releases, newest first. Omits entries with an invalid version. */
export function newest<Named extends { version: string }>(releases: Named[]): Named[] {
  const parsed = releases.flatMap((release) => {
    const version = parseVersion(release.version)
    return version ? [{ release, version }] : []
  })
  const sorted = parsed.toSorted((a, b) => compareParsed(b.version, a.version))
  return sorted.slice(0, maxListed).map(({ release }) => release)
}

/** Extracts the hex SHA-256 at the beginning of a text in `sha256sum` format. */
export const parseSha256 = (text: string): string | null => /^[0-9a-f]{64}(?=\s|$)/i.exec(text.trim())?.[0].toLowerCase() ?? null
