import type { FastifyInstance, FastifyRequest } from 'fastify'
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
