import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { type Address, type Guard, resolveConfiguredHost, resolveHost } from './addresses.ts'

export type RequestRules = {
  /** DNS servers; by default, those of the system. */
  servers: readonly string[]
  /** A host that an operator chose, whose name may be known to this machine only. */
  configuredHost?: string
  /** Decides which addresses and ports may be contacted. */
  isAllowed: Guard
  /** Aborts the request and its body. */
  signal: AbortSignal
  headers?: Record<string, string>
  maxRedirects?: number
  /** Decides whether a redirect may be followed. By default, all are. */
  mayRedirect?: (from: URL, to: URL) => boolean
}

/** Thrown when a server cannot be contacted or answers unusably. `isTemporary`: a later attempt may succeed. `status`: its HTTP status, if any. */
export class NotFetched extends Error {
  readonly isTemporary: boolean
  readonly status: number | undefined

  constructor(message: string, { isTemporary = false, status, cause }: { isTemporary?: boolean; status?: number; cause?: unknown } = {}) {
    super(message, { cause })
    this.isTemporary = isTemporary
    this.status = status
  }
}

/**
 * Requests a URL of another server over HTTP or HTTPS and follows redirects. Each host is resolved once, and the connection goes to an address that
 * was checked. Sends no credentials, cookies or referrer. The caller must read or destroy the returned response, whatever its status.
 * @throws NotFetched
 */
export async function requestUrl(text: string, rules: RequestRules): Promise<IncomingMessage> {
  const maxRedirects = rules.maxRedirects ?? 3
  let url = checkedUrl(text)
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const target = url
    const answer = await orTemporary(target.href, () => send(target, rules))
    const next = answer.headers.location
    const status = answer.statusCode ?? 0
    if (status <= 300 || status >= 400 || status === 304 || next === undefined) return answer
    answer.destroy()
    const to = checkedUrl(URL.parse(next, target)?.href ?? '')
    if (rules.mayRedirect?.(target, to) === false) throw new NotFetched(`${target.host} redirects to ${to.origin}, which is not allowed`)
    url = to
  }
  throw new NotFetched(`more than ${maxRedirects} redirects`)
}

/** Runs work on a response and turns failures of the network into temporary ones. @throws NotFetched */
export async function orTemporary<Result>(target: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof NotFetched ? error : new NotFetched(`${target}: ${String(error)}`, { isTemporary: true, cause: error })
  }
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw new NotFetched('the URL is not http or https')
  if (url.username || url.password) throw new NotFetched('the URL has a user name or password')
  return url
}

async function send(url: URL, { servers, configuredHost, isAllowed, signal, headers = {} }: RequestRules): Promise<IncomingMessage> {
  const isHttps = url.protocol === 'https:'
  const port = Number(url.port || (isHttps ? 443 : 80))
  const resolve = url.hostname === configuredHost ? resolveConfiguredHost : resolveHost
  const addresses = await resolve(url.hostname, servers)
  // One forbidden address is enough: a client would choose any of them.
  const forbidden = addresses.find(({ address }) => !isAllowed(address, port, url.hostname))
  if (forbidden) throw new NotFetched(`${url.host} is at ${forbidden.address}, port ${port}, which may not be contacted`)
  signal.throwIfAborted()
  // Loaded on demand, because importing `node:http` also loads `fetch`.
  const { request } = isHttps ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    request(url, { headers, signal, agent: false, lookup: lookUpOnly(addresses), maxHeaderSize: 16 * 1024 })
      .on('response', resolve)
      .on('error', reject)
      .end()
  })
}

/** Returns a look-up that answers with these addresses, so that the connection does not resolve the name again. */
const lookUpOnly =
  (addresses: Address[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, addresses)
    else callback(null, first?.address ?? '', first?.family)
  }
