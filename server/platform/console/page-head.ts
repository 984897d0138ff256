import escapeHtml from 'escape-html'
import type { Services } from '../../services.ts'
import { logoPath, readIdentity, type RegistryIdentity } from '../settings/identity.ts'

/** What the HTML of a page states about it, for link previews and search engines. Only what everyone may read. */
export type PageSummary = {
  title: string
  description: string
  /** Path of the page, relative to the registry. */
  path: string
  /** Version of the package that the page is about. */
  version?: string
  /** Path of a preview image of 1200×630 pixels; the logo by default. */
  image?: string
}

/** Returns the summary of the page at a path, or null if the page has none or not everyone may read it. */
export type PageSummarizer = (services: Pick<Services, 'config' | 'database'>, path: string) => Promise<PageSummary | null>

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
  const image = `${serverUrl}${summary?.image ?? logo ?? '/icon-512.png'}`
  const preview = url
    ? `<link rel="canonical" href="${escapeHtml(url)}">${metaTags({ title: summary.title, description, url, image, isLarge: summary.image !== undefined, site: identity.name })}`
    : ''
  return titleAndDescription(title, description) + links + preview
}

const titleAndDescription = (title: string, description: string) =>
  `<title>${escapeHtml(title)}</title><meta name="description" content="${escapeHtml(description)}">`

type Preview = { title: string; description: string; url: string; image: string; isLarge: boolean; site: string }

/** Returns the Open Graph and Twitter elements of a page. */
function metaTags({ title, description, url, image, isLarge, site }: Preview): string {
  const edges = isLarge ? (['1200', '630'] as const) : (['512', '512'] as const)
  const properties = { type: 'website', site_name: site, title, description, url, image, 'image:width': edges[0], 'image:height': edges[1] }
  const graph = Object.entries(properties).map(([name, value]) => `<meta property="og:${name}" content="${escapeHtml(value)}">`)
  return `${graph.join('')}<meta name="twitter:card" content="${isLarge ? 'summary_large_image' : 'summary'}">`
}
