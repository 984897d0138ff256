import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { audienceOf } from '../../platform/access/audience.ts'
import type { Context } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { acceptedEncoding, compressText } from '../../platform/http/caching/compression.ts'
import { isFresh, noStore, prefers, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { imageSettings } from '../../registry/markdown/images.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { isPackageName } from '../../platform/pub/package-name.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import { z } from 'zod'
import { ofPackage } from '../../registry/packages/parameters.ts'
import { binary, type Data, route } from '../../platform/rest/route.ts'
import { symbolIndex, symbolIndexSchema, symbolsPath } from '../api-pages/symbols.ts'
import { areInConsole, consolePath, readPacked } from './api-page.ts'
import { findDocs, type FoundVersion, type KnownDocs, type ShownState } from './service.ts'
import { pageHeaders, sendNoPage, sendRejection } from './message-page.ts'
import { completePage, imagesTag, siteLinks } from './switcher.ts'
import { type Packed, PagesLost, regenerateLost, refresh, findPage, readPage } from './read-page.ts'
import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rejectOtherMethods } from '../../platform/http/methods.ts'

const readers = { access: 'browse', failurePage: sendRejection } as const
const inConsole = { 301: { description: '`Location` is the URL of the page in the console.' } }
const found = { ...inConsole, 303: { description: '`Location` is the URL of the documentation of dartdoc.' } }

/** dartdoc's search index. Tools read the libraries of a package from it. */
const indexFile = 'index.json'

/** Routes of the generated API documentation, for callers who may read the package. */
export const docsBinaries = [
  binary('GET /documentation/:pkg', {
    ...readers,
    summary: 'Redirects to the documentation of the latest version.',
    handler: redirectToStart,
    produces: found,
  }),
  binary('GET /documentation/:pkg/:version', {
    ...readers,
    summary: 'Redirects to the documentation of a version.',
    handler: redirectToStart,
    produces: found,
  }),
  binary('GET /documentation/:pkg/:version/*', {
    ...readers,
    summary: 'Returns a documentation page of dartdoc for a version, or for `latest`. Redirects to the console for others.',
    handler: (context) => sendPage(context, parameters(context).path),
    produces: { 200: { description: 'The page.', type: 'text/html' }, ...inConsole, 304: { description: 'Not modified.' } },
  }),
  binary(`GET /documentation/:pkg/:version/${indexFile}`, {
    access: 'browse',
    summary: 'Returns all libraries and elements with their pages, as in the search index of dartdoc.',
    handler: sendIndex,
    produces: {
      200: { description: 'The index.', type: 'application/json', schema: symbolIndexSchema },
      304: { description: 'Not modified.' },
    },
  }),
]

/** Routes with the state of the documentation, as on pub.dev. */
export const docsRoutes = [
  route(
    'GET /api/documentation/:pkg',
    `query ($pkg: String!, $after: String) { package(name: $pkg) { name versions(first: 100, after: $after) {
      nodes { version apiDocumentation { state url } } pageInfo { hasNextPage endCursor }
    } } }`,
    {
      summary: 'Which versions of a package have API documentation, highest first.',
      allNodes: 'package.versions',
      answer: {
        from: documentedVersions,
        schema: z.object({
          name: z.string(),
          versions: z.array(
            z.object({ version: z.string(), status: z.enum(['pending', 'failed', 'completed']), hasDocumentation: z.boolean() }),
          ),
        }),
      },
      ...ofPackage,
    },
  ),
]

/** pub.dev knows three states only. Documentation that is switched off will not come, so it counts as failed. */
const statusOnPubDev: Record<ShownState, 'pending' | 'failed' | 'completed'> = {
  disabled: 'failed',
  not_analyzed: 'pending',
  pending: 'pending',
  running: 'pending',
  completed: 'completed',
  failed: 'failed',
}

type StatedVersion = { version: string; apiDocumentation: { state: ShownState; url: string | null } }

function documentedVersions(data: Data): unknown {
  const { name, versions } = data.package as { name: string; versions: StatedVersion[] }
  return {
    name,
    versions: versions.map(({ version, apiDocumentation }) => ({
      version,
      status: statusOnPubDev[apiDocumentation.state],
      hasDocumentation: apiDocumentation.url !== null,
    })),
  }
}

function parameters({ request }: Context): { name: string; version: string; path: string } {
  const { pkg = '', version: named, '*': path = '' } = request.params as Record<string, string>
  const version = named || 'latest'
  if (!isPackageName(pkg) || !(version === 'latest' || parseVersion(version))) throw notFound('Documentation not found.')
  return { name: pkg, version, path: path === '' || path.endsWith('/') ? `${path}index.html` : path }
}

const unknownDocs = (name: string, version: string) =>
  notFound(version === 'latest' ? `There is no package ${name} on this server.` : `There is no ${name} ${version} on this server.`)

/** Sends a page of dartdoc, or redirects to the page in the console, which also shows the state of documentation without pages. */
async function sendPage(context: Context, path: string): Promise<unknown> {
  const version = await findWanted(context)
  const packed = packedOf(version.docs)
  const answer = await whereNotLost(context, packed, async (one) => {
    if (await areInConsole(context, one)) return null
    await refresh(context, version)
    return { sent: await sendPacked(context, version, one, path) }
  })
  return answer ? answer.sent : redirect(context, consolePath(path))
}

async function findWanted(context: Context): Promise<FoundVersion> {
  const { name, version: wanted } = parameters(context)
  const version = await findDocs(context, audienceOf(context), name, wanted)
  if (!version) throw unknownDocs(name, wanted)
  return version
}

/** Calls `read` with the pages of a version. Returns null without pages, and when they are lost, which then are generated again. */
async function whereNotLost<Read>(context: Context, packed: Packed | null, read: (packed: Packed) => Promise<Read>): Promise<Read | null> {
  if (!packed) return null
  try {
    return await read(packed)
  } catch (error) {
    if (!(error instanceof PagesLost)) throw error
    await regenerateLost(context, packed.sha256)
    return null
  }
}

async function redirectToStart(context: Context): Promise<unknown> {
  const packed = packedOf((await findWanted(context)).docs)
  const isElsewhere = await whereNotLost(context, packed, async (one) => !(await areInConsole(context, one)))
  if (!isElsewhere) return redirect(context, '')
  const { request, reply, config } = context
  const { name, version } = parameters(context)
  return reply.redirect(`${publicUrl(request, config.SERVER_URL)}/documentation/${name}/${encodeURIComponent(version)}/`, 303)
}

/** The redirect is not cached, because dartdoc may generate the next pages. */
function redirect(context: Context, page: string): unknown {
  const { request, reply, config } = context
  const { name, version } = parameters(context)
  const shown = version === 'latest' ? '' : `/versions/${encodeURIComponent(version)}`
  const path = page
    .split('/')
    .filter((part) => part && part !== '.' && part !== '..')
    .map((part) => `/${encodeURIComponent(part)}`)
  const url = `${publicUrl(request, config.SERVER_URL)}/packages/${name}${shown}/api${path.join('')}`
  return reply.header('cache-control', noStore).redirect(url, 301)
}

async function sendPacked(context: Context, version: FoundVersion, packed: Packed, path: string): Promise<unknown> {
  const { name, version: wanted } = parameters(context)
  const page = await findPage(context, packed, path)
  if (!page) {
    if (prefers(context.request, 'text/html')) return sendNoPage(context, name, wanted, version.version)
    throw notFound(`The documentation of ${name} ${version.version} does not contain this page.`)
  }
  const links = await siteLinks(context, { name, version: version.version, path, size: page.size })
  const gzipped = () => readPage(context, packed, page)
  if (!links) {
    const plain = async () => decompress(await gzipped(), { maxOutputLength: page.size })
    return send(context, `W/"${page.etag}"`, { gzipped, plain })
  }
  const images = imageSettings(context)
  const plain = async () => completePage(await gzipped(), links, images)
  return send(context, `W/"${page.etag}-${links.etag}-${imagesTag(images)}"`, { gzipped: async () => compress(await plain()), plain })
}

/** Pages of dartdoc, and of earlier versions of this server, contain the symbols on the page of all symbols. */
const symbolFiles = [symbolsPath, 'search.html']

async function sendIndex(context: Context): Promise<unknown> {
  const version = await findWanted(context)
  const packed = packedOf(version.docs)
  const answer = await whereNotLost(context, packed, async (one) => {
    for (const path of symbolFiles) {
      const file = await findPage(context, one, path)
      if (!file) continue
      const plain = async () => Buffer.from(symbolIndex((await readPacked(context, one, path)) ?? '[]'))
      const read = { gzipped: async () => compress(await plain()), plain }
      return { sent: await send(context, `W/"${file.etag}-index"`, read, 'application/json') }
    }
    return null
  })
  if (!answer) throw notFound(`${parameters(context).name} ${version.version} has no documentation yet.`)
  return answer.sent
}

const packedOf = (docs: KnownDocs | null): Packed | null =>
  docs && docs.sha256 !== null ? { sha256: docs.sha256, bytes: docs.bytes } : null

type Encodings = { gzipped: () => Promise<Buffer>; plain: () => Promise<Buffer> }

async function send(context: Context, etag: string, read: Encodings, type = 'text/html'): Promise<unknown> {
  const { request, reply } = context
  if (isFresh(request, etag)) return sendHeadersOnly(request, pageHeaders(context).header('etag', etag).code(304))
  const isGzip = acceptedEncoding(request, ['gzip']) !== null
  const bytes = await (isGzip ? read.gzipped() : read.plain())
  pageHeaders(context).header('etag', etag).header('content-length', bytes.length).type(`${type}; charset=utf-8`)
  if (isGzip) reply.header('content-encoding', 'gzip')
  return request.method === 'HEAD' ? sendHeadersOnly(request, reply) : reply.send(bytes)
}

const [compress, decompress] = [promisify<Buffer, Buffer>(gzip), promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)]

const files = { 'docs.css': 'text/css; charset=utf-8', 'docs.js': 'text/javascript; charset=utf-8' }

/** Serves the stylesheet and the script of documentation pages to everyone. For the browser they are cross-origin (see `pageHeaders`). */
export function mountDocsAssets(app: FastifyInstance): void {
  for (const [name, type] of Object.entries(files)) {
    const path = `/documentation/-/${name}`
    const content = readFileSync(new URL(`../api-pages/assets/${name}`, import.meta.url))
    const etag = `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    app.get(path, { onSend: compressText }, async (request, reply) => {
      reply.header('etag', etag).header('cache-control', 'public, max-age=300').header('cross-origin-resource-policy', 'cross-origin')
      if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
      return reply.type(type).send(content)
    })
    rejectOtherMethods(app, path, ['GET'])
  }
}
