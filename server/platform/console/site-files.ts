import escapeHtml from 'escape-html'
import type { FastifyInstance } from 'fastify'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { basePath } from '../http/public-url.ts'
import { logoPath, readIdentity } from '../settings/identity.ts'
import type { Services } from '../../services.ts'

const icons = {
  '/favicon.svg': 'image/svg+xml',
  '/icon-192.png': 'image/png',
  '/icon-512.png': 'image/png',
  '/apple-touch-icon.png': 'image/png',
}

/** Paths of the files that browsers request for the whole site. */
export const siteFiles: ReadonlySet<string> = new Set([...Object.keys(icons), '/manifest.webmanifest', '/opensearch.xml'])

/** Serves the icons, the web app manifest and the OpenSearch description, with which browsers search packages from the address bar. */
export function mountSiteFiles(app: FastifyInstance, services: Services, root: string): void {
  for (const [path, type] of Object.entries(icons)) {
    const file = join(root, path)
    if (!existsSync(file)) continue
    app.get(path, async (_request, reply) => reply.type(type).header('cache-control', 'public, max-age=86400').send(readFileSync(file)))
  }
  const { SERVER_URL } = services.config
  app.get('/manifest.webmanifest', async (_request, reply) =>
    reply
      .type('application/manifest+json; charset=utf-8')
      .header('cache-control', 'public, no-cache')
      .send(JSON.stringify(await manifestOf(services))),
  )
  app.get('/opensearch.xml', async (_request, reply) => {
    const { name } = await readIdentity(services.database.reads)
    return reply
      .type('application/opensearchdescription+xml; charset=utf-8')
      .header('cache-control', 'public, no-cache')
      .send(openSearch(SERVER_URL, name))
  })
}

/** Source: W3C, Web Application Manifest. */
async function manifestOf({ config, database }: Services): Promise<object> {
  const identity = await readIdentity(database.reads)
  const base = `${basePath(config.SERVER_URL)}/`
  const logo = logoPath(identity)
  const own = [192, 512].map((edge) => ({ src: `${base}icon-${edge}.png`, sizes: `${edge}x${edge}`, type: 'image/png' }))
  return {
    name: identity.name,
    short_name: identity.name.slice(0, 12),
    ...(identity.description && { description: identity.description }),
    start_url: base,
    scope: base,
    display: 'browser',
    icons: logo ? [{ src: `${base}${logo.slice(1)}`, sizes: '512x512', type: 'image/png' }] : own,
  }
}

/** Source: OpenSearch 1.1. The short name has at most 16 characters. */
const openSearch = (serverUrl: string, name: string) => `<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
  <ShortName>${xmlText(Array.from(name).slice(0, 16).join(''))}</ShortName>
  <Description>Search packages</Description>
  <InputEncoding>UTF-8</InputEncoding>
  <Image width="192" height="192" type="image/png">${xmlText(serverUrl)}/icon-192.png</Image>
  <Url type="text/html" template="${xmlText(serverUrl)}/packages?q={searchTerms}"/>
</OpenSearchDescription>
`

/** Escapes text for an element or a quoted attribute of XML, and removes characters that XML 1.0 cannot represent (section 2.2). */
export const xmlText = (value: string): string =>
  // oxlint-disable-next-line no-control-regex -- control characters are intended here
  escapeHtml(value.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ''))
