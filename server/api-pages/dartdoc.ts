import { opendir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { z } from 'zod'
import { type DartdocPage, type LinkOf, readDartdocPage, sanitizeDartdoc } from './dartdoc-page.ts'
import { frame, type Page } from './frame.ts'
import { Html, html } from './html.ts'
import { maxPageBytes, maxPages, packPages, PagesTooLarge, type Packed } from './pack.ts'
import { symbolsPage } from './search-page.ts'
import { addressFrom } from './view.ts'

type About = { name: string; version: string }

/**
 * Packs what `dart doc` wrote into a folder as pages of our own: their content is taken over without anything that could run, send, load or
 * deceive, and stands in our frame, with our style, script and search. What else is in the folder stays behind.
 * @throws PagesTooLarge; Error when the folder has no documentation, or a page whose layout is not known.
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
    if (page) yield framed(path, page, about, paths)
    else if (!redirection.test(html)) throw new Error(`dart doc wrote the page ${path} in a layout that this server does not know.`)
  }
  yield symbolsPage(about, ...(await readSymbols(folder, paths)))
}

/** Pages that lead elsewhere have no content of their own. */
const redirection = /<meta\s[^>]*http-equiv=["']?refresh/i

/** What dartdoc writes beside its pages, and other pages load; our search page has the place of its own. */
const isPart = (path: string) => /-sidebar\.html$|^__404error\.html$|^search\.html$/.test(path)

/** The pages below a folder, in order. Links are not followed. */
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

function framed(path: string, { title, crumbs, main, sections }: DartdocPage, about: About, paths: ReadonlySet<string>): Page {
  const linkOf = linksOn(path, paths)
  // The first one is the package, which the frame has.
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

/** An address that no page has, to resolve links against. */
const base = 'http://docs.invalid/'

/** Links between pages stay relative, those to other sites are whole; every other one is taken away. */
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

type Symbols = Parameters<typeof symbolsPage>[1]

/** What dartdoc's own search knows: what stands at the top of libraries, and what is below. Without its index there is nothing to search. */
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
