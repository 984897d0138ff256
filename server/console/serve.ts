import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isConsolePage } from './pages.ts'
import { unknownAddress } from '../errors.ts'
import { compressText } from '../http/caching/compression.ts'
import { prefers } from '../http/caching/conditional.ts'
import { refuseOtherMethods } from '../http/methods.ts'
import { basePath } from '../http/public-url.ts'
import type { Services } from '../services.ts'
import { isBrowsingOn } from '../access/browsing.ts'

/** The console's Content-Security-Policy. The API reference (rest/reference.ts) and the OAuth error page (oauth/page.ts) have their own. */
const policy =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

/** Serves the console: its hashed files for ever, its one page for every address that nothing else answers. */
export async function mountConsole(app: FastifyInstance, services: Services): Promise<void> {
  const { config } = services
  const base = `${basePath(config.SERVER_URL)}/`
  if (existsSync(root)) {
    await app.register(fastifyStatic, {
      root: join(root, 'assets'),
      serve: false,
      index: false,
      immutable: true,
      maxAge: '1y',
      lastModified: false,
      preCompressed: true,
    })
    // The plugin's own route reads the whole folder for every file, to refuse other spellings of a name: nothing here is behind one of them.
    app.route<{ Params: { '*': string } }>({
      method: ['HEAD', 'GET'],
      url: '/assets/*',
      handler: (request, reply) => reply.sendFile(request.params['*']),
    })
    app.get('/favicon.svg', async (_request, reply) =>
      reply
        .type('image/svg+xml')
        .header('cache-control', 'public, max-age=86400')
        .send(readFileSync(join(root, 'favicon.svg'))),
    )
  }
  app.get('/robots.txt', async (_request, reply) =>
    reply
      .type('text/plain; charset=utf-8')
      .header('cache-control', 'no-cache')
      .send((await isBrowsingOn(services)) ? robots(base) : 'User-agent: *\nDisallow: /\n'),
  )
  const sendPage = consoleSender(services)
  const exists = (request: FastifyRequest) => {
    const path = pathBelow(base, request)
    return !isNoPage(path) && (isConsolePage(path) || path === '/robots.txt' || path === '/favicon.svg')
  }
  for (const path of ['/', '/*']) refuseOtherMethods(app, path, ['GET'], exists)
  // Below a prefix, `/` is also SERVER_URL itself, without a slash; the page's base makes its addresses hold there too.
  app.get('/', { onSend: compressText }, sendPage)
  app.get('/*', { onSend: compressText, onRequest: app.refuseOtherMethod }, sendPage)
}

/** What answers with the console's one page, which shows what belongs to the address. */
export function consoleSender(services: Services): RouteHandlerMethod {
  const base = `${basePath(services.config.SERVER_URL)}/`
  const page = existsSync(join(root, 'index.html'))
    ? readFileSync(join(root, 'index.html'), 'utf8').replace('<base href="/"', `<base href="${base}"`)
    : notBuilt
  const { SERVER_URL } = services.config
  return async (request, reply) => {
    const path = pathBelow(base, request)
    if (isNoPage(path)) throw unknownAddress(SERVER_URL)
    const isPage = isConsolePage(path)
    // A person gets the console's own words about it; what reads no HTML gets an error that it understands.
    if (!isPage && !prefers(request, 'text/html')) throw unknownAddress(SERVER_URL)
    if (!browsable.test(path) || !(await isBrowsingOn(services))) reply.header('x-robots-tag', 'noindex')
    return reply
      .code(isPage ? 200 : 404)
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('cache-control', 'no-cache')
      .send(page)
  }
}

const root = join(import.meta.dirname, '../../web/dist')
const pathBelow = (base: string, request: FastifyRequest) => request.url.slice(base.length - 1).split('?', 1)[0] || '/'

/** What belongs to the other doors; where they have nothing, there is nothing. */
const isNoPage = (path: string) => /^\/(api|oauth|graphql|assets|\.well-known)(\/|$)/.test(path) && !isConsolePage(path)

/** The pages that have something to read for whoever did not sign in. */
const browsable = /^\/(packages(\/[a-z0-9_]+(\/[\w.+-]+)*)?)?$/

/** What search engines may look at while anybody may browse: the pages of packages, and what those need. */
const robots = (base: string) => `User-agent: *
Disallow: ${base}
Allow: ${base}$
Allow: ${base}packages
Allow: ${base}assets/
Allow: ${base}graphql
`

const notBuilt =
  '<!doctype html><html lang="en"><title>Snug</title><p>The console is not built. Start the server with <code>npm start</code>, or build it with <code>npm run build</code>.</p></html>'
