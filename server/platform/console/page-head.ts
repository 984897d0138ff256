import escapeHtml from 'escape-html'
import type { Services } from '../../services.ts'
import { logoPath, readIdentity, type RegistryIdentity } from '../settings/identity.ts'

/** What the HTML of a page states about it, for link previews and search engines. Only what everyone may read. */
export type PageSummary = {
  title: string
  description: string
  /** Path of the page, relative to the registry. */
  path: string
}

/** Returns the summary of the page at a path, or null if the page has none or not everyone may read it. */
export type PageSummarizer = (services: Services, path: string) => Promise<PageSummary | null>

const defaultDescription = 'A package registry for Dart and Flutter'

/**
 * Returns the elements that replace the title and the description in the HTML page. Without a summary, they name the registry only. Never throws: the
 * page is also served if the database is down.
 */
export async function pageHead(services: Services, path: string, summarize: PageSummarizer): Promise<string> {
  try {
    const identity = await readIdentity(services.database.reads)
    return headOf(services.config.SERVER_URL, identity, await summarize(services, path))
  } catch {
    return titleAndDescription('Snug', defaultDescription)
  }
}

function headOf(serverUrl: string, identity: RegistryIdentity, summary: PageSummary | null): string {
  const about = identity.description || defaultDescription
  const title = summary ? `${summary.title} · ${identity.name}` : identity.name
  const description = summary?.description || about
  const logo = logoPath(identity)
  const icons = logo
    ? `<link rel="icon" type="image/png" href=".${logo}"><link rel="apple-touch-icon" href=".${logo}">`
    : '<link rel="icon" type="image/svg+xml" href="./favicon.svg"><link rel="icon" type="image/png" sizes="192x192" href="./icon-192.png"><link rel="apple-touch-icon" href="./apple-touch-icon.png">'
  const links = `${icons}<link rel="manifest" href="./manifest.webmanifest"><link rel="search" type="application/opensearchdescription+xml" href="./opensearch.xml" title="${escapeHtml(identity.name)}">`
  const url = summary && `${serverUrl}${summary.path}`
  const image = `${serverUrl}${logo ?? '/icon-512.png'}`
  const preview = url
    ? `<link rel="canonical" href="${escapeHtml(url)}">${metaTags({ title: summary.title, description, url, image, site: identity.name })}`
    : ''
  return titleAndDescription(title, description) + links + preview
}

const titleAndDescription = (title: string, description: string) =>
  `<title>${escapeHtml(title)}</title><meta name="description" content="${escapeHtml(description)}">`

type Preview = { title: string; description: string; url: string; image: string; site: string }

/** Returns the Open Graph and Twitter elements of a page. */
function metaTags({ title, description, url, image, site }: Preview): string {
  const properties = { type: 'website', site_name: site, title, description, url, image, 'image:width': '512', 'image:height': '512' }
  const graph = Object.entries(properties).map(([name, value]) => `<meta property="og:${name}" content="${escapeHtml(value)}">`)
  return `${graph.join('')}<meta name="twitter:card" content="summary">`
}
