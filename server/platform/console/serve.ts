import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { GraphQLSchema } from 'graphql'
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { unknownAddress } from '../../errors.ts'
import { compressText } from '../http/caching/compression.ts'
import { noStore, prefers } from '../http/caching/conditional.ts'
import { cookieSuffix } from '../http/cookies.ts'
import { rejectOtherMethods } from '../http/methods.ts'
import { basePath } from '../http/public-url.ts'
import type { Services } from '../../services.ts'
import { isBrowsingOn } from '../access/audience.ts'
import type { TrustedDocuments } from '../graphql/trusted-documents.ts'
import { type FirstAnswers, firstAnswerer, lacksSubject } from './first-answers.ts'
import { pageHead, type PageSummarizer } from './page-head.ts'
import { readPageIndex } from './page-index.ts'
import { textOfAnswers } from './page-text.ts'
import { mountSiteFiles, siteFiles } from './site-files.ts'

/**
 * The console's Content-Security-Policy. The OAuth error page (accounts/oauth/binary.ts) and messages of the documentation
 * (analysis/docs/message-page.ts) have their own.
 */
const policyFor = ({ README_IMAGES }: Pick<Services['config'], 'README_IMAGES'>, page: string): string =>
  `default-src 'self'; script-src ${["'self'", ...inlineScripts(page)].join(' ')}; style-src 'self' 'unsafe-inline'; img-src 'self' data:${README_IMAGES === 'direct' ? ' https: http:' : ''}; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'`

/** Returns the sources of the build's inline scripts for a Content-Security-Policy: their hashes. */
const inlineScripts = (page: string): string[] =>
  Array.from(
    page.matchAll(/<script id="color-mode">(.*?)<\/script>/gs),
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  )

/** Serves the console: hashed files, cached permanently by browsers, and its single HTML page for all paths that no other route matches. */
export async function mountConsole(app: FastifyInstance, services: Services, sendPage: RouteHandlerMethod): Promise<void> {
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
    // Replaces the plugin's own route, which reads the whole folder for each file to reject other spellings of a name. No file here is protected, so
    // that is not needed.
    app.route<{ Params: { '*': string } }>({
      method: ['HEAD', 'GET'],
      url: '/assets/*',
      // Diagrams are drawn in a frame without an origin, whose scripts count as those of another one.
      handler: (request, reply) => reply.header('cross-origin-resource-policy', 'cross-origin').sendFile(request.params['*']),
    })
  }
  mountSiteFiles(app, services, root)
  app.get('/robots.txt', async (_request, reply) =>
    reply
      .type('text/plain; charset=utf-8')
      .header('cache-control', 'no-cache')
      .send((await isBrowsingOn(services)) ? robots(base, config.SERVER_URL) : 'User-agent: *\nDisallow: /\n'),
  )
  const exists = (request: FastifyRequest) => {
    const path = pathBelow(base, request)
    return !isApiPath(path) && (pages.has(path) || path === '/robots.txt' || siteFiles.has(path))
  }
  for (const path of ['/', '/*']) rejectOtherMethods(app, path, ['GET'], exists)
  // With a prefix, `/` also matches SERVER_URL without a trailing slash. The page's `<base>` keeps relative URLs correct there.
  app.get('/', { onSend: compressText }, sendPage)
  app.get('/*', { onSend: compressText, onRequest: app.rejectOtherMethod }, sendPage)
}

type ConsoleParts = { schema: GraphQLSchema; documents: TrustedDocuments; summarize: PageSummarizer }

/**
 * Returns a handler that serves the console's HTML page, whose scripts render the page of the requested path. The page names the files and contains
 * the answers that the console needs to show its content at once. A page about something that does not exist has the status 404.
 */
export function consoleSender(services: Services, { schema, documents, summarize }: ConsoleParts): RouteHandlerMethod {
  const { SERVER_URL } = services.config
  const base = `${basePath(SERVER_URL)}/`
  const page = existsSync(join(root, 'index.html'))
    ? readFileSync(join(root, 'index.html'), 'utf8').replace(
        '<base href="/"',
        `<meta name="cookie-suffix" content="${cookieSuffix(SERVER_URL)}"><base href="${base}"`,
      )
    : notBuilt
  const policy = policyFor(services.config, page)
  const texts = readTexts()
  const answersTo = firstAnswerer(services, schema, documents)
  return async (request, reply) => {
    const path = pathBelow(base, request)
    if (isApiPath(path)) throw unknownAddress(SERVER_URL)
    const isPage = pages.has(path)
    // Browsers get the console's "not found" page; other clients get a JSON error.
    if (!isPage && !prefers(request, 'text/html')) throw unknownAddress(SERVER_URL)
    if (!browsable.test(path) || !(await isBrowsingOn(services))) reply.header('x-robots-tag', 'noindex')
    const needs = pages.needsOf(path, request.url.split('?')[1] ?? '')
    const known = await answersTo(request, reply, needs)
    // Callers who may not see the page are sent to the sign-in page.
    const files = known.isComplete ? needs.files : known.isSignedIn ? [] : pages.needsOf('/login', '').files
    const head = await pageHead(services, path, summarize)
    return reply
      .code(isPage && !known.answers.some(lacksSubject) ? 200 : 404)
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('cache-control', known.answers.length > 0 ? noStore : 'no-cache')
      .send(withText(pageWith(page, { head, files }, known), texts[path] ?? (known.isSignedIn ? null : textOfAnswers(known.answers))))
  }
}

/** Returns the HTML of the help pages by path, for browsers without JavaScript. */
const readTexts = (): Record<string, string> => {
  const file = join(root, 'help.json')
  return existsSync(file) ? z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(file, 'utf8'))) : {}
}

/**
 * Replaces what browsers without JavaScript show with the text of the page, if there is one. Only they parse it: for others the element ends at the first
 * end tag, which sanitized attributes may contain.
 */
const withText = (page: string, text: string | null) =>
  text === null
    ? page
    : page.replace(
        /<noscript>.*<\/noscript>/s,
        () =>
          `<noscript><main class="container-page py-10"><div class="document max-w-3xl">${text.replaceAll(/<(?=\/?noscript)/gi, '&lt;')}</div></main></noscript>`,
      )

/** Adds the files and answers that a page needs to the HTML page. */
function pageWith(page: string, { head, files }: { head: string; files: string[] }, { session, answers }: FirstAnswers): string {
  const links = files.map((file) =>
    file.endsWith('.css')
      ? `<link rel="stylesheet" crossorigin href="./${file}">`
      : `<link rel="modulepreload" crossorigin href="./${file}">`,
  )
  const data = { session, answers: answers.map(({ hash, variables, data: answer }) => ({ hash, variables, data: answer })) }
  // No `<` can end the element or begin a comment in it.
  const json = JSON.stringify(data).replaceAll('<', String.raw`\u003c`)
  return page
    .replaceAll(builtInHead, '')
    .replace('</head>', () => `${head}${links.join('')}</head>`)
    .replace('</body>', () => `<script type="application/json" id="first-answers">${json}</script></body>`)
}

/** The title, description and icon of index.html, in this order, which the server replaces. */
const builtInHead = /<title>.*?<\/title>|<meta name="description"[^>]*>|<link rel="icon"[^>]*>/g

const root = join(import.meta.dirname, '../../../web/dist')
/** The pages of the build. */
const pages = readPageIndex(join(root, 'pages.json'))
const pathBelow = (base: string, request: FastifyRequest) => request.url.slice(base.length - 1).split('?', 1)[0] || '/'

/** Whether the path belongs to an API or to files, unless the console has a page there. */
const isApiPath = (path: string) => /^\/(api|oauth|graphql|assets|\.well-known)(\/|$)/.test(path) && !pages.has(path)

/** Pages that can show content to anonymous visitors. */
const browsable = /^\/(packages(\/[a-z0-9_]+(\/[\w.+-]+)*)?)?$/

/** Returns a robots.txt that allows package pages and the files they need, for servers with anonymous browsing. */
const robots = (base: string, serverUrl: string) => `User-agent: *
Disallow: ${base}
Allow: ${base}$
Allow: ${base}packages
Allow: ${base}assets/
Allow: ${base}graphql
Allow: ${base}raw/
Allow: ${base}images
Allow: ${base}thumbnails/
Allow: ${base}api/logo
Allow: ${base}icon-512.png
Allow: ${base}sitemap.xml

Sitemap: ${serverUrl}/sitemap.xml
`

const notBuilt =
  '<!doctype html><html lang="en"><title>Snug</title><p>The console is not built. Start the server with <code>npm start</code>, or build it with <code>npm run build</code>.</p></html>'
