import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { type ApiError, expectationFailed, invalidInput } from '../../errors.ts'
import { noStore } from './caching/conditional.ts'
import type { Log } from './log.ts'
import { isSecure, publicUrl } from './public-url.ts'

/**
 * Adds security headers to every response: no framing, sniffing, reading across origins, or caching, unless the route allows it. Pages add their own
 * Content-Security-Policy (console/serve.ts, rest/reference.ts, accounts/oauth/binary.ts).
 */
export function secureHeaders(app: FastifyInstance, serverUrl: string, log: Log): void {
  const warnOfOtherScheme = createSchemeWarning(serverUrl, log)
  app.addHook('onRequest', (request, reply, done) => {
    const overHttps = isSecure(request, serverUrl)
    if (overHttps) warnOfOtherScheme(request)
    reply.headers(overHttps ? headersOverHttps : headers)
    done()
  })
}

const headers = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': noStore,
}

// No `includeSubDomains`: other applications may use the subdomains. Browsers ignore both headers over http.
const headersOverHttps = {
  ...headers,
  'strict-transport-security': 'max-age=31536000',
  'cross-origin-opener-policy': 'same-origin',
}

/** Returns a function that warns once if a trusted proxy reports https but SERVER_URL, which dependencies in packages name, uses http. */
function createSchemeWarning(serverUrl: string, log: Log): (request: FastifyRequest) => void {
  let warned = serverUrl.startsWith('https:')
  return (request) => {
    if (warned) return
    warned = true
    const meant = publicUrl(request, serverUrl)
    log.warning(`The proxy reports https, but SERVER_URL is ${serverUrl}. If clients use https, set SERVER_URL=${meant}`)
  }
}

/** Headers whose meaning is ambiguous if they are sent twice: Node would use the first one, a proxy perhaps the last one. */
const singletons = new Set(['host', 'authorization', 'content-type', 'content-length', 'transfer-encoding'])
const singletonLengths = new Set([...singletons].map(({ length }) => length))

/** `host[:port]` of RFC 9110 §7.2, possibly empty. */
const validHost = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i

/**
 * Rejects requests that a proxy could understand differently (RFC 9112 §3.2 and §6): without a valid Host header, with a header twice that has one
 * value, or with a transfer coding other than `chunked`. Also rejects expectations other than `100-continue` (417). Without the listener and with
 * `requireHostHeader`, Node would respond itself, without the error envelope.
 */
export function rejectAmbiguousRequests(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => void app.server.emit('request', request, response))
  app.addHook('onRequest', (request, _reply, done) => done(faultOf(request.raw)))
}

function faultOf({ headers, rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
  const { host, expect, 'transfer-encoding': coding } = headers
  if (host === undefined && httpVersion === '1.1') return invalidInput('The header Host is missing.')
  if (host !== undefined && !validHost.test(host)) return invalidInput('The header Host is not valid.')
  const repeated = repeatedSingleton(rawHeaders)
  if (repeated !== undefined) return invalidInput(`The header ${repeated} is sent more than once.`)
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0'))
    return invalidInput('The Transfer-Encoding is not supported. Send the body with HTTP/1.1 as chunked, or with Content-Length.')
  return expect === undefined || expect.toLowerCase() === '100-continue' ? undefined : expectationFailed()
}

function repeatedSingleton(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    // Most headers need no further comparison.
    if (!singletonLengths.has(name.length)) continue
    const lower = name.toLowerCase()
    if (!singletons.has(lower)) continue
    if (seen.has(lower)) return name
    seen.add(lower)
  }
  return undefined
}
