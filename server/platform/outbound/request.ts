import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { type Address, anyPublicAddress, type Guard, isPrivateName, resolveConfiguredHost, resolveHost } from './addresses.ts'
import { openAgent, proxyAuthorization, proxyFor, type ProxySettings, variableFor } from './proxy.ts'

export type RequestRules = {
  /** DNS servers; by default, those of the system. */
  servers: readonly string[]
  /** Forward proxies. By default, all requests are sent directly. */
  proxies?: ProxySettings
  /** Whether an operator chose this host and port: it may have any address, and a name that only this machine or the proxy knows. */
  isConfigured?: (url: URL) => boolean
  /** Decides which addresses and ports may be contacted. */
  isAllowed: Guard
  /** Aborts the request and its body. */
  signal: AbortSignal
  headers?: Record<string, string>
  /** Method and body of the request; by default, GET. */
  method?: string
  body?: string | undefined
  /** Value of the header `Authorization` for these URLs. It is not sent after a redirect to another URL, and not again after that. */
  authorization?: { value: string; isFor: (url: URL) => boolean } | null
  maxRedirects?: number
  /** Decides whether a redirect may be followed. By default, all are. */
  mayRedirect?: (from: URL, to: URL) => boolean
}

type Details = { isTemporary?: boolean; isForbidden?: boolean; status?: number; cause?: unknown }

/**
 * Thrown when a server cannot be contacted or answers unusably. `isTemporary`: a later attempt may succeed. `isForbidden`: the rules do not allow the
 * request. `status`: its HTTP status, if any.
 */
export class NotFetched extends Error {
  readonly isTemporary: boolean
  readonly isForbidden: boolean
  readonly status: number | undefined

  constructor(message: string, { isTemporary = false, isForbidden = false, status, cause }: Details = {}) {
    super(message, { cause })
    this.isTemporary = isTemporary
    this.isForbidden = isForbidden
    this.status = status
  }
}

export const forbidden = (message: string): NotFetched => new NotFetched(message, { isForbidden: true })

/**
 * Requests a URL of another server over HTTP or HTTPS and follows redirects. Each host is resolved once, and the connection goes to an address that
 * was checked; a proxy resolves it again. Sends no cookies, no referrer, and no credentials other than `authorization`. The caller must read or destroy the returned response, whatever its status. Its `url` is that of the last redirect.
 * @throws NotFetched
 */
export async function requestUrl(text: string, rules: RequestRules): Promise<IncomingMessage> {
  const maxRedirects = rules.maxRedirects ?? 3
  let url = checkedUrl(text)
  let { authorization } = rules
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const target = url
    if (authorization?.isFor(target) !== true) authorization = null
    const headers = { ...rules.headers, ...(authorization && { authorization: authorization.value }) }
    const answer = await orTemporary(target.href, () => send(target, { ...rules, headers }))
    const next = answer.headers.location
    const status = answer.statusCode ?? 0
    if (status <= 300 || status >= 400 || status === 304 || next === undefined) return Object.assign(answer, { url: target.href })
    answer.destroy()
    const to = checkedUrl(URL.parse(next, target)?.href ?? '')
    if (rules.mayRedirect?.(target, to) === false) throw forbidden(`${target.host} redirects to ${to.origin}, which is not allowed`)
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

/**
 * Reads the content of a response. `received` is called for every chunk and can yield to other work.
 * @throws NotFetched if it has more than `maxBytes` bytes.
 */
export async function readContent(answer: IncomingMessage, maxBytes: number, received?: (bytes: number) => Promise<void>): Promise<Buffer> {
  const tooLarge = () => new NotFetched(`the document has more than ${maxBytes} bytes`)
  if (Number(answer.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    chunks.push(chunk)
    await received?.(chunk.length)
  }
  return Buffer.concat(chunks)
}

export function checkedUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw new NotFetched('the URL is not http or https')
  if (url.username || url.password) throw new NotFetched('the URL has a user name or password')
  return url
}

async function send(
  url: URL,
  { proxies = {}, signal, headers = {}, method = 'GET', body, ...rules }: RequestRules,
): Promise<IncomingMessage> {
  const isHttps = url.protocol === 'https:'
  const proxy = proxyFor(proxies, url)
  const addresses = await allowedAddresses(url, rules, proxy !== null)
  signal.throwIfAborted()
  // Loaded on demand, because importing `node:http` also loads `fetch`.
  const { request } = isHttps ? await import('node:https') : await import('node:http')
  const agent = await openAgent(proxies, url)
  const way = agent ? { agent } : { agent: false, lookup: lookUpOnly(addresses) }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    // A request that waits for a proxy does not report the abort.
    if (agent) signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    request(url, { method, headers, signal, maxHeaderSize: 16 * 1024, ...way })
      .on('response', resolve)
      .on('error', (error) => reject(explainProxyFailure(proxies, url, error)))
      .end(body)
  })
  requireProxyAccess(proxies, url, answer)
  return answer
}

/**
 * Resolves the host of a URL and checks its addresses. A host that only the proxy knows has none; it must not have the name of a private host.
 * @throws NotFetched if one of the addresses may not be contacted.
 */
async function allowedAddresses(
  url: URL,
  { servers, isConfigured, isAllowed }: Pick<RequestRules, 'servers' | 'isConfigured' | 'isAllowed'>,
  hasProxy: boolean,
): Promise<Address[]> {
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const isTrusted = isConfigured?.(url) === true
  if (isTrusted) return hasProxy ? [] : resolveConfiguredHost(url.hostname, servers)
  if (hasProxy && isPrivateName(url.hostname)) throw forbidden(`${url.host} has a name of a private network, which may not be contacted`)
  const addresses = await (hasProxy ? resolveConfiguredHost(url.hostname, servers).catch(() => []) : resolveHost(url.hostname, servers))
  // One forbidden address is enough: a client would choose any of them.
  const rejected = addresses.find(({ address }) => !isAllowed(address, port))
  if (rejected) throw forbidden(`${url.host} is at ${rejected.address}, port ${port}, which may not be contacted`)
  if (addresses.length === 0 && !isAllowed(anyPublicAddress, port)) throw forbidden(`port ${port} of ${url.host} may not be contacted`)
  return addresses
}

/** Explains a failed request through a proxy. Names the proxy without its credentials. Returns other errors unchanged. */
export function explainProxyFailure(settings: ProxySettings, url: URL, error: unknown): unknown {
  const proxy = proxyFor(settings, url)
  if (!proxy || !(error instanceof Error) || error instanceof NotFetched) return error
  const { code, syscall } = error as NodeJS.ErrnoException
  const name = `the proxy ${proxy.origin}`
  const fail = (reason: string) => new NotFetched(reason, { isTemporary: true, cause: error })
  if (code === 'ERR_PROXY_TUNNEL') {
    const [, status] = /: HTTP\/1\.[01] (\d{3})/.exec(error.message) ?? []
    if (status === '407' || status === '401') return credentialsRejected(settings, url, proxy, Number(status))
    if (status !== undefined) return fail(`${name} refused to connect to ${url.host} (status ${status})`)
    return fail(
      `${name} did not connect to ${url.host}: ${/timed out/.test(error.message) ? 'no answer in time' : 'it does not answer like an HTTP proxy'}`,
    )
  }
  if (syscall === 'connect' || syscall === 'getaddrinfo') return fail(`${name} cannot be reached: ${code ?? error.message}`)
  return fail(`${url.host} did not answer through ${name}: ${error.message}`)
}

/** @throws NotFetched if the answer to an http request is the rejection of a proxy. */
export function requireProxyAccess(settings: ProxySettings, url: URL, answer: IncomingMessage): void {
  const status = answer.statusCode ?? 0
  const proxy = url.protocol === 'http:' && (status === 407 || isTinyproxy(answer)) ? proxyFor(settings, url) : null
  if (!proxy) return
  answer.destroy()
  throw credentialsRejected(settings, url, proxy, status)
}

/** Whether an answer is the rejection of a wrong password by Tinyproxy, which has status 401 instead of 407. */
const isTinyproxy = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === 401 && /^tinyproxy\b/i.test(String(headers.server))

/** Returns the failure for rejected or missing credentials. */
function credentialsRejected(settings: ProxySettings, url: URL, proxy: URL, status: number): NotFetched {
  const what = proxyAuthorization(proxy) === null ? 'requires a user name and password' : 'does not accept the user name and password'
  return new NotFetched(`the proxy ${proxy.origin} ${what} (status ${status}): check ${variableFor(settings, url)}`, { isTemporary: true })
}

/** Returns a look-up that answers with these addresses, so that the connection does not resolve the name again. */
const lookUpOnly =
  (addresses: Address[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, addresses)
    else callback(null, first?.address ?? '', first?.family)
  }

/** Minimum transfer rate: at least `bytes` every `ms` milliseconds. */
export type Pace = { bytes: number; ms: number }

/** Returns a signal that aborts when fewer than `bytes` arrive within `ms`. The caller reports received bytes to `received`. */
export function watchPace(outer: AbortSignal, { bytes, ms }: Pace) {
  const tooSlow = new AbortController()
  const timer = setTimeout(() => tooSlow.abort(new Error('the transfer is too slow')), ms).unref()
  let receivedBytes = 0
  return {
    signal: AbortSignal.any([outer, tooSlow.signal]),
    received(count: number): void {
      receivedBytes += count
      if (receivedBytes < bytes) return
      receivedBytes = 0
      timer.refresh()
    },
    end: () => clearTimeout(timer),
  }
}
