import type { FastifyInstance } from 'fastify'
import { notStored } from './caching/conditional.ts'
import { isSecure } from './cookies.ts'
import type { Log } from './log.ts'
import { warnerOfOtherScheme } from './public-url.ts'

/**
 * What every answer carries. Pages add a Content-Security-Policy of their own (console/serve.ts, rest/reference.ts, oauth/page.ts); nothing here
 * may be framed, sniffed or read across origins, and nothing is kept by a cache unless its route says so. Over https, browsers are told to stay there.
 */
export function secureHeaders(app: FastifyInstance, serverUrl: string, log: Log): void {
  const warnOfOtherScheme = warnerOfOtherScheme(serverUrl, log)
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
  'cache-control': notStored,
}

// Subdomains are not ours to decide about. Browsers ignore both headers over http.
const headersOverHttps = {
  ...headers,
  'strict-transport-security': 'max-age=31536000',
  'cross-origin-opener-policy': 'same-origin',
}
