import { Parser } from 'htmlparser2'
import sanitizeHtml from 'sanitize-html'

/** The parts of a dartdoc page that are imported. The HTML is not sanitized yet. */
export type DartdocPage = {
  title: string
  crumbs: { label: string; href: string | null }[]
  main: string
  sections: { id: string; label: string }[]
}

/** Extracts the parts of a dartdoc page. Returns null for a page without a main content element. */
export function readDartdocPage(html: string): DartdocPage | null {
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
export type LinkOf = (href: string) => { href: string; isOutside: boolean } | null

/** Sanitizes HTML from dartdoc: removes scripts, forms, everything that loads a resource, and everything that could imitate the surrounding page. */
export function sanitizeDartdoc(html: string, linkOf: LinkOf): string {
  return sanitizeHtml(html, {
    ...allowed,
    transformTags: {
      a: (tagName, { href, title, id }) => {
        const link = href === undefined ? null : linkOf(href)
        const kept = { ...(title && { title }), ...(id && isFree(id) && { id }) }
        return { tagName, attribs: link ? { ...kept, href: link.href, ...(link.isOutside && { rel: 'nofollow ugc noopener' }) } : kept }
      },
      img: (_tagName, { alt }) => ({ tagName: 'span', attribs: {}, text: alt?.trim() || 'Picture' }),
      '*': (tagName, { id, ...attribs }) => ({ tagName, attribs: id && isFree(id) ? { ...attribs, id } : attribs }),
    },
  })
}

const allowed: sanitizeHtml.IOptions = {
  allowedTags:
    `h1 h2 h3 h4 h5 h6 p a ul ol li blockquote pre code kbd samp var em strong b i u s del ins sub sup br hr table thead tbody tfoot tr
    th td caption dl dt dd details summary div span section abbr q cite small mark wbr`.split(/\s+/),
  allowedAttributes: {
    '*': ['id', 'title', 'lang', 'dir', 'class'],
    a: ['href', 'rel'],
    th: ['colspan', 'rowspan', 'scope'],
    td: ['colspan', 'rowspan'],
    ol: ['start'],
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
  selfClosing: ['br', 'hr', 'wbr'],
}

/** Ids that begin with `page-` are reserved for the surrounding page. */
const isFree = (id: string) => !id.startsWith('page-')
