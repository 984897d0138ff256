import { html } from '../api-pages/html.ts'
import type { Context } from '../../platform/access/context.ts'
import type { ApiError } from '../../errors.ts'
import { challenge } from '../../platform/http/failures.ts'
import { noStore, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { basePath, publicUrl } from '../../platform/http/public-url.ts'
import type { FastifyReply } from 'fastify'
import { cacheControlOf } from '../../platform/access/audience.ts'

/**
 * Sets the headers of a documentation page. The CSP sandbox gives the page an opaque origin, so it can access neither the console's storage and
 * cookies nor the API. Scripts and styles are loaded only from the server's asset folder, so scripts from a package or from dartdoc do not run. Images
 * are loaded from the image proxy, or from any server if `README_IMAGES` is `direct`; among the packages there are badges. Links open in normal,
 * unsandboxed windows.
 */
export function pageHeaders(context: Context): FastifyReply {
  const { request, reply, config } = context
  const here = publicUrl(request, config.SERVER_URL)
  const assets = `${here}/documentation/-/`
  const images = `${here}/images ${here}/packages/${config.README_IMAGES === 'direct' ? ' https: http:' : ''}`
  // Over HTTPS the server sets `cross-origin-opener-policy`, but browsers block sandboxed pages that have this header.
  return reply
    .removeHeader('cross-origin-opener-policy')
    .header(
      'content-security-policy',
      `default-src 'none'; script-src ${assets}; style-src ${assets}; img-src ${images}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ` +
        'sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox',
    )
    .header('cache-control', cacheControlOf(context, 'private, no-cache'))
    .header('vary', 'accept-encoding, authorization, cookie')
}

type Message = { status: number; title: string; text: string; links: readonly { label: string; href: string }[] }

export function sendMessage(context: Context, { status, title, text, links }: Message): unknown {
  const { request, reply, config } = context
  const base = basePath(config.SERVER_URL)
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <link rel="stylesheet" href="${base}/documentation/-/docs.css" />
      </head>
      <body>
        <main class="message">
          <h1>${title}</h1>
          <p>${text}</p>
          ${links.map(({ label, href }) => html`<p><a href="${base}${href}">${label}</a></p>`)}
        </main>
      </body>
    </html> `
  // The state can change at any time, so the response must not be cached.
  pageHeaders(context).header('cache-control', noStore).code(status).type('text/html; charset=utf-8')
  return request.method === 'HEAD' ? sendHeadersOnly(request, reply) : reply.send(page.text)
}

export function sendRejection(context: Context, { status, message, retryAfter }: ApiError): unknown {
  const { request, reply, config } = context
  if (status === 401 || status === 403) reply.header('www-authenticate', challenge(message))
  if (retryAfter) reply.header('retry-after', String(retryAfter))
  const here = request.url.slice(basePath(config.SERVER_URL).length)
  const titles: Record<number, string> = { 401: 'Sign in to read this documentation', 403: 'Access denied', 404: 'Page not found' }
  return sendMessage(context, {
    status,
    title: titles[status] ?? 'The documentation cannot be shown',
    text: status === 401 ? 'The package is not public or does not exist on this server.' : message,
    links:
      status === 401
        ? [{ label: 'Sign in', href: `/login?redirect=${encodeURIComponent(here)}` }]
        : [{ label: 'All packages', href: '/packages' }],
  })
}

export function sendNoPage(context: Context, name: string, at: string, version: string): unknown {
  return sendMessage(context, {
    status: 404,
    title: 'Page not found',
    text: `The documentation of ${name} ${version} does not contain this page. The page may have a different name in this version.`,
    links: [
      { label: `Documentation of ${name} ${version}`, href: `/documentation/${name}/${encodeURIComponent(at)}/` },
      { label: 'Search the documentation', href: `/documentation/${name}/${encodeURIComponent(at)}/search.html` },
      toPackage(name, version),
    ],
  })
}

const toPackage = (name: string, version: string) => ({
  label: `${name} ${version}`,
  href: `/packages/${name}/versions/${encodeURIComponent(version)}`,
})
