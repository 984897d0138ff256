import type { FastifyReply } from 'fastify'
import { cacheControlOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'

/**
 * Sets the headers of a documentation page. The CSP sandbox gives the page an opaque origin, so it can access neither the console's storage and
 * cookies nor the API. Scripts and styles are loaded only from the server's asset folder, so scripts from a package or from dartdoc do not run. Links
 * open in normal, unsandboxed windows.
 */
export function pageHeaders(context: Context): FastifyReply {
  const { request, reply, config } = context
  const assets = `${publicUrl(request, config.SERVER_URL)}/documentation/-/`
  // Over HTTPS the server sets `cross-origin-opener-policy`, but browsers block sandboxed pages that have this header.
  return reply
    .removeHeader('cross-origin-opener-policy')
    .header(
      'content-security-policy',
      `default-src 'none'; script-src ${assets}; style-src ${assets}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ` +
        'sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox',
    )
    .header('cache-control', cacheControlOf(context, 'private, no-cache'))
    .header('vary', 'accept-encoding, authorization, cookie')
}
