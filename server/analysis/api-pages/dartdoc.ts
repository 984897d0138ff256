import { opendir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { z } from 'zod'
import { Parser } from 'htmlparser2'
import sanitizeHtml from 'sanitize-html'
import { imageLater } from '../../registry/markdown/images.ts'
import { imageAttributes } from '../../registry/markdown/sanitize.ts'
import { frame, relativeAddress } from './frame.ts'
import { Html, html } from './html.ts'
import type { Page } from './page.ts'
import { maxPageBytes, maxPages, type Packed, packPages, PagesTooLarge } from './pack.ts'
import { dartdocKinds, renderSymbolsPage } from './symbols.ts'

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
    const address = relativeAddress(path, { path: target, anchor: null })
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
    const word = dartdocKinds[kind] ?? 'symbol'
    const isBelow = withinTypes.has(word) || (enclosedBy !== undefined && dartdocKinds[enclosedBy.kind] !== 'library')
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

/** The parts of a dartdoc page that are imported. The HTML is not sanitized yet. */
type DartdocPage = {
  title: string
  crumbs: { label: string; href: string | null }[]
  main: string
  sections: { id: string; label: string }[]
}

/** Extracts the parts of a dartdoc page. Returns null for a page without a main content element. */
function readDartdocPage(html: string): DartdocPage | null {
  const page: DartdocPage = { title: '', crumbs: [], main: '', sections: [] }
  // Stack of the open elements, by their purpose.
  const open: (keyof typeof readers | null)[] = []
  let [start, end, section]: [number, number, string | null] = [-1, -1, null]
  const readers = {
    title: (text: string) => void (page.title += text),
    crumb: (text: string) => void ((page.crumbs.at(-1) ?? { label: '' }).label += text),
    heading: (text: string) => void ((page.sections.at(-1) ?? { label: '' }).label += text),
    main: () => {},
    breadcrumbs: () => {},
  }
  const purposeOf = (name: string, attributes: Record<string, string>): keyof typeof readers | null => {
    if (name === 'title' && page.title === '') return 'title'
    if (name === 'div' && attributes.id === 'dartdoc-main-content' && start < 0) return 'main'
    if (name === 'ol' && /\bbreadcrumbs\b/.test(attributes.class ?? '') && page.crumbs.length === 0) return 'breadcrumbs'
    if (name === 'li' && open.includes('breadcrumbs')) return 'crumb'
    return name === 'h2' && section !== null && open.includes('main') ? 'heading' : null
  }
  const parser = new Parser({
    onopentag(name, attributes) {
      const purpose = purposeOf(name, attributes)
      open.push(purpose)
      if (purpose === 'main') start = parser.endIndex + 1
      if (purpose === 'crumb') page.crumbs.push({ label: '', href: null })
      if (purpose === 'heading' && section !== null) page.sections.push({ id: section, label: '' })
      if (purpose === 'heading') section = null
      if (name === 'section' && attributes.id) section = attributes.id
      const crumb = page.crumbs.at(-1)
      if (name === 'a' && crumb && open.includes('crumb')) crumb.href = attributes.href ?? null
    },
    ontext: (text) => readers[open.findLast((purpose) => purpose !== null) ?? 'main'](text),
    onclosetag() {
      if (open.pop() === 'main') end = parser.startIndex
    },
  })
  parser.end(html)
  if (start < 0) return null
  return { ...page, title: page.title.trim(), main: html.slice(start, end < start ? html.length : end) }
}

/** Resolves a link of a page. Returns null for a link without a valid target. */
type LinkOf = (href: string) => { href: string; isOutside: boolean } | null

/** Sanitizes HTML from dartdoc: removes scripts, forms, everything but images that loads a resource, and everything that could imitate the surrounding
 * page. */
function sanitizeDartdoc(html: string, linkOf: LinkOf): string {
  return sanitizeHtml(html, {
    ...allowed,
    transformTags: {
      a: (tagName, { href, title, id }) => {
        const link = href === undefined ? null : linkOf(href)
        const kept = { ...(title && { title }), ...(id && isFree(id) && { id }) }
        return { tagName, attribs: link ? { ...kept, href: link.href, ...(link.isOutside && { rel: 'nofollow ugc noopener' }) } : kept }
      },
      img: (_tagName, attributes) => image(attributes),
      '*': (tagName, { id, ...attribs }) => ({ tagName, attribs: id && isFree(id) ? { ...attribs, id } : attribs }),
    },
  })
}

/** Replaces images with a relative URL by their alternative text, because dartdoc does not copy their files. */
function image({ src, alt, width, height }: Record<string, string>): sanitizeHtml.Tag {
  const later = src === undefined ? null : imageLater(src)
  if (later === null) return { tagName: 'span', attribs: {}, text: alt?.trim() || 'Picture' }
  return { tagName: 'img', attribs: imageAttributes({ src: later, alt: alt ?? '', ...(width && { width }), ...(height && { height }) }) }
}

const allowed: sanitizeHtml.IOptions = {
  allowedTags:
    `h1 h2 h3 h4 h5 h6 p a ul ol li blockquote pre code kbd samp var em strong b i u s del ins sub sup br hr table thead tbody tfoot tr
    th td caption dl dt dd details summary div span section abbr q cite small mark wbr img`.split(/\s+/),
  allowedAttributes: {
    '*': ['id', 'title', 'lang', 'dir', 'class'],
    a: ['href', 'rel'],
    th: ['colspan', 'rowspan', 'scope'],
    td: ['colspan', 'rowspan'],
    ol: ['start'],
    img: ['src', 'alt', 'width', 'height', 'loading', 'decoding'],
  },
  allowedClasses: {
    '*': `summary desc markdown multi-line-signature source-code signature returntype parameter parameter-list single-line parameter-name type-annotation
      type-parameter default-value name field field-name features feature deprecated inherited callable property constructor-modifier
      properties callables annotation-list comma-separated gt-separated clazz-relationships dl-horizontal from-extension`.split(/\s+/),
    code: [/^language-[\w+#-]{1,40}$/],
  },
  allowedSchemes: ['https', 'http', 'mailto'],
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  nestingLimit: 200,
  selfClosing: ['br', 'hr', 'wbr', 'img'],
}

/** Ids that begin with `page-` are reserved for the surrounding page. */
const isFree = (id: string) => !id.startsWith('page-')
