import { opendir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { z } from 'zod'
import { type DartdocPage, type LinkOf, readDartdocPage, sanitizeDartdoc } from './dartdoc-page.ts'
import { frame, type Page } from './frame.ts'
import { Html, html } from './html.ts'
import { maxPageBytes, maxPages, packPages, PagesTooLarge, type Packed } from './pack.ts'
import { renderSymbolsPage } from './search-page.ts'
import { addressFrom } from './view.ts'

type About = { name: string; version: string }

/**
 * Imports the output folder of `dart doc` into a packed file. The sanitized content of each page is placed in this server's layout, with its style
 * sheet, script and search. Other files are ignored.
 * @throws PagesTooLarge when a limit is exceeded; Error when the folder has no documentation, or a page has an unknown layout.
 */
export async function importDartdoc(folder: string, about: About, file: string): Promise<Packed> {
  const paths = await pathsIn(folder)
  if (!paths.has('index.html')) throw new Error('There is no documentation in the folder: dart doc wrote no index.html.')
  return packPages(pagesOf(folder, about, paths), file)
}

async function* pagesOf(folder: string, about: About, paths: ReadonlySet<string>): AsyncGenerator<Page> {
  for (const path of paths) {
    const html = await readFile(join(folder, path), 'utf8')
    const page = readDartdocPage(html)
    if (page) yield toPage(path, page, about, paths)
    else if (!redirection.test(html)) throw new Error(`dart doc wrote the page ${path} in a layout that this server does not know.`)
  }
  yield renderSymbolsPage(about, ...(await readSymbols(folder, paths)))
}

/** Redirect pages have no content of their own. */
const redirection = /<meta\s[^>]*http-equiv=["']?refresh/i

/** Parts that dartdoc's pages load with a script, and its search page, which this server replaces. */
const isPart = (path: string) => /-sidebar\.html$|^__404error\.html$|^search\.html$/.test(path)

/** Lists the HTML pages below a folder in sorted order. Does not follow symbolic links. */
async function pathsIn(folder: string): Promise<ReadonlySet<string>> {
  const paths: string[] = []
  for await (const entry of await opendir(folder, { recursive: true })) {
    const absolute = join(entry.parentPath, entry.name)
    const path = relative(folder, absolute).split(sep).join('/')
    if (!entry.isFile() || !path.endsWith('.html') || isPart(path)) continue
    if ((await stat(absolute)).size > maxPageBytes) throw new PagesTooLarge(`the page ${path} has more than ${maxPageBytes} bytes`)
    if (paths.push(path) > maxPages) throw new PagesTooLarge(`it has more than ${maxPages} pages`)
  }
  return new Set(paths.toSorted())
}

function toPage(path: string, { title, crumbs, main, sections }: DartdocPage, about: About, paths: ReadonlySet<string>): Page {
  const linkOf = linksOn(path, paths)
  // The first breadcrumb is the package, which the layout already contains.
  const steps = crumbs
    .slice(1)
    .map(({ label, href }) => ({ label: label.trim(), href: href === null ? null : (linkOf(href)?.href ?? null) }))
  const contents = sections.map(({ id, label }) => ({ id, label: label.trim(), entries: [] }))
  const heading = path === 'index.html' ? html`<h1>${about.name} ${about.version} <span class="kind">API documentation</span></h1>` : null
  return frame(about, {
    path,
    title,
    crumbs: steps,
    contents,
    main: html`${heading}
      <div class="dartdoc">${new Html(sanitizeDartdoc(main, linkOf))}</div>`,
  })
}

/** Base URL for resolving links. The domain `.invalid` never exists (RFC 2606). */
const base = 'http://docs.invalid/'

/** Returns a resolver for the links of a page: keeps links to other pages, http, https and mailto links, and removes all others. */
function linksOn(path: string, paths: ReadonlySet<string>): LinkOf {
  return (href) => {
    const url = URL.parse(href, `${base}${path.split('/').map(encodeURIComponent).join('/')}`)
    if (!url) return null
    if (!url.href.startsWith(base)) return /^(https?|mailto):$/.test(url.protocol) ? { href: url.href, isOutside: true } : null
    const target = pageAt(url.pathname)
    if (target === null || !paths.has(target)) return null
    const address = addressFrom(path, { path: target, anchor: null })
    const [page, anchor] = target === path && url.hash ? ['', url.hash] : [address, url.hash]
    return { href: `${page.split('/').map(encodePart).join('/')}${anchor}`, isOutside: false }
  }
}

const encodePart = (part: string) => (part === '..' ? part : encodeURIComponent(part))

function pageAt(pathname: string): string | null {
  try {
    const path = decodeURIComponent(pathname.slice(1))
    return path === '' || path.endsWith('/') ? `${path}index.html` : path
  } catch {
    return null
  }
}

const kinds =
  `accessor constant constructor class dynamic enum extension extension_type function library method mixin never package parameter prefix
  property sdk topic constant property typedef type_parameter`
    .split(/\s+/)
    .map((kind) => kind.replace('_', ' '))
const withinTypes = new Set(['accessor', 'constructor', 'method'])

const indexShape = z.array(
  z.object({
    name: z.string(),
    href: z.string(),
    kind: z.int().nonnegative(),
    enclosedBy: z.object({ name: z.string(), kind: z.int() }).optional(),
  }),
)

type Symbols = Parameters<typeof renderSymbolsPage>[1]

/** Reads the symbols from dartdoc's search index. Returns empty lists if the index is missing or invalid. */
async function readSymbols(folder: string, paths: ReadonlySet<string>): Promise<[top: Symbols, below: Symbols]> {
  const linkOf = linksOn('search.html', new Set(paths))
  const [top, below]: [Symbols[number][], Symbols[number][]] = [[], []]
  for (const { name, href, kind, enclosedBy } of await readIndexFile(join(folder, 'index.json'))) {
    const link = linkOf(href)
    if (!link || link.isOutside) continue
    const word = kinds[kind] ?? 'symbol'
    const isBelow = withinTypes.has(word) || (enclosedBy !== undefined && kinds[enclosedBy.kind] !== 'library')
    ;(isBelow ? below : top).push([name, word, enclosedBy?.name ?? '', link.href])
  }
  return [top, below]
}

async function readIndexFile(path: string): Promise<z.infer<typeof indexShape>> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? '[]' : Promise.reject(error),
  )
  try {
    return indexShape.parse(JSON.parse(text))
  } catch {
    return []
  }
}
