import { lookup } from 'node:dns'
import { once } from 'node:events'
import type { IncomingMessage, RequestOptions } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { parseAddress } from '../../platform/http/client-address.ts'

const maxRedirects = 5
const redirects = new Set([301, 302, 303, 307, 308])

type Options = { headers?: Record<string, string>; signal: AbortSignal }

/**
 * Requests a file of an SDK archive. Follows redirects only to the archive's own host, and to a private address only if the archive itself has a
 * private address. The response body is not decoded. Aborting `signal` also stops reading the body.
 * @throws Error when the archive cannot be reached or redirects to another host; the abort reason of `signal` when it is aborted.
 */
export async function requestFile(address: string, { headers = {}, signal }: Options): Promise<IncomingMessage> {
  const options = { headers: { ...headers, 'accept-encoding': 'identity' }, signal }
  let url = requireHttp(address)
  let response = await send(url, options)
  const { remoteAddress } = response.socket
  const isPrivateArchive = remoteAddress !== undefined && isPrivate(remoteAddress)
  for (let followed = 0; redirects.has(response.statusCode ?? 0) && response.headers.location; followed++) {
    response.destroy()
    if (followed === maxRedirects) throw new Error(`it redirects more than ${maxRedirects} times`)
    url = redirectTarget(url, response.headers.location)
    response = await send(url, isPrivateArchive ? options : { ...options, agent: false, lookup: lookupPublic })
  }
  return response
}

async function send(url: URL, options: RequestOptions & { signal: AbortSignal }): Promise<IncomingMessage> {
  options.signal.throwIfAborted()
  // Imported lazily: importing named exports of node:http also loads the platform's fetch, which would slow down every server start.
  const { request: requestOver } = url.protocol === 'https:' ? https : await import('node:http')
  const request = requestOver(url, options)
  // Ignores request errors after the response has started: the response stream emits these too.
  request.on('error', () => {}).end()
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : error
  }
}

function requireHttp(address: string): URL {
  const url = new URL(address)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password)
    throw new Error('its address is not http or https, or contains a password')
  return url
}

/**
 * Resolves the target of a redirect.
 * @throws Error unless the target has the same scheme, host and port, or the same host with https.
 */
export function redirectTarget(from: URL, location: string): URL {
  const to = URL.canParse(location, from) ? new URL(location, from) : null
  const isSameSite = to && (to.origin === from.origin || (to.protocol === 'https:' && to.hostname === from.hostname))
  if (!isSameSite || to.username || to.password)
    throw new Error(`it redirects to ${JSON.stringify(location.slice(0, 200))}, which is not on the same host`)
  return to
}

/** Returns true unless the IP address is a public unicast address. */
export function isPrivate(address: string): boolean {
  return parseAddress(address)?.range() !== 'unicast'
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
