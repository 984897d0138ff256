import type { FastifyReply } from 'fastify'
import { cacheControlOf } from '../access/audience.ts'
import type { Context } from '../access/context.ts'
import { publicUrl } from '../http/public-url.ts'

/**
 * The headers of a page. It is sandboxed without an origin of its own, so it reaches neither the console's storage nor its cookies, nor may it ask
 * the API for anything; scripts and styles come from one folder that only the server fills. What a package or dartdoc brought along does not run.
 * Windows that are opened from it are ordinary ones.
 */
export function pageHeaders(context: Context): FastifyReply {
  const { request, reply, config } = context
  const assets = `${publicUrl(request, config.SERVER_URL)}/documentation/-/`
  // Over https, pages get this header; browsers refuse one that is sandboxed as well.
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
