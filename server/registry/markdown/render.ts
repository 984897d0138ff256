import MarkdownIt, { type MarkdownIt as Parser } from 'markdown-it'
import sanitizeHtml from 'sanitize-html'

/**
 * Renders Markdown (GitHub flavor: tables, strikethrough, task lists, bare links, inline HTML) as sanitized HTML. Images become links, because
 * loading them would reveal the reader to another server.
 */
export const renderMarkdown = (source: string, resolve: LinkResolver): string => sanitizeRendered(markdown.render(source), resolve)

/** Sanitizes HTML rendered from Markdown. URLs in `own` belong to the surrounding page and stay unchanged. */
export function sanitizeRendered(rendered: string, resolve: LinkResolver, own: ReadonlySet<string> = new Set()): string {
  let links = 0
  return sanitizeHtml(rendered, {
    ...allowed,
    transformTags: {
      a: (tagName, attributes) => ({ tagName, attribs: linkAttributes(attributes, resolve, own) }),
      img: (_tagName, attributes) => pictureLink(attributes, resolve, links > 0),
      '*': (tagName, attributes) => ({ tagName, attribs: prefixedId(attributes) }),
    },
    onOpenTag: (name) => void (links += name === 'a' ? 1 : 0),
    onCloseTag: (name) => void (links -= name === 'a' ? 1 : 0),
    exclusiveFilter: ({ tag, attribs }) => tag === 'input' && attribs.type !== 'checkbox',
  })
}

const markdown = new MarkdownIt({ html: true, linkify: true }).use(taskLists).use(headingIds)
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })

const allowed: sanitizeHtml.IOptions = {
  allowedTags:
    `h1 h2 h3 h4 h5 h6 p a ul ol li blockquote pre code kbd samp var em strong b i u s del ins sub sup br hr table thead tbody tfoot tr th td
    caption dl dt dd details summary div span center picture abbr q cite small mark input`.split(/\s+/),
  allowedAttributes: {
    '*': ['id', 'title', 'align', 'lang', 'dir'],
    a: ['href', 'rel'],
    ol: ['start', 'reversed', 'type'],
    th: ['colspan', 'rowspan', 'scope', 'style'],
    td: ['colspan', 'rowspan', 'style'],
    details: ['open'],
    input: ['type', 'checked', 'disabled'],
  },
  allowedClasses: { code: [/^language-[\w+#-]{1,40}$/], ul: ['task-list'], ol: ['task-list'], li: ['task'] },
  allowedStyles: { '*': { 'text-align': [/^(left|right|center)$/] } },
  allowedSchemes: ['https', 'http', 'mailto'],
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  nestingLimit: 100,
}

type Attributes = Record<string, string>

/** Prefix for ids within a document, so that they do not collide with ids of the surrounding page. */
const idPrefix = 'doc-'

function prefixedId({ id, name, ...attributes }: Attributes): Attributes {
  const anchor = id ?? name
  return anchor ? { ...attributes, id: `${idPrefix}${anchor}` } : attributes
}

function linkAttributes({ href, ...rest }: Attributes, resolve: LinkResolver, own: ReadonlySet<string>): Attributes {
  if (href !== undefined && own.has(href)) return { ...rest, href }
  if (href?.startsWith('#')) return { ...rest, href: `#${idPrefix}${href.slice(1)}` }
  const target = href === undefined ? null : resolve(href, 'link')
  return target === null ? rest : { ...rest, href: target, rel: 'nofollow ugc noopener' }
}

/** Replaces an image with a link to the image, labelled with its description. Within a link, only the description remains. */
function pictureLink({ src, alt }: Attributes, resolve: LinkResolver, withinLink: boolean): sanitizeHtml.Tag {
  const target = src === undefined ? null : resolve(src, 'image')
  const text = alt?.trim() || 'Picture'
  if (target === null || withinLink) return { tagName: 'span', attribs: {}, text }
  return { tagName: 'a', attribs: { href: target, rel: 'nofollow ugc noopener' }, text }
}

/** Gives headings the same ids as GitHub, so that tables of contents work. */
function headingIds(parser: Parser): void {
  parser.core.ruler.push('heading-ids', ({ tokens }) => {
    const used = new Map<string, number>()
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'heading_open') continue
      const text =
        tokens[index + 1]?.children
          ?.filter(({ type }) => type === 'text' || type === 'code_inline')
          .map(({ content }) => content)
          .join('') ?? ''
      const slug = text
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
        .replace(/ /g, '-')
      const count = used.get(slug) ?? 0
      used.set(slug, count + 1)
      if (slug) token.attrSet('id', count ? `${slug}-${count}` : slug)
    }
  })
}

/** Renders `- [ ] open` and `- [x] done` as items with a disabled checkbox (GitHub Flavored Markdown, 5.3). */
function taskLists(parser: Parser): void {
  parser.core.ruler.after('inline', 'task-lists', ({ tokens, Token }) => {
    for (const [index, token] of tokens.entries()) {
      const item = tokens[index - 2]
      const first = token.children?.[0]
      const [mark, state] = (first?.type === 'text' && /^\[([ xX])\] /.exec(first.content)) || []
      if (token.type !== 'inline' || item?.type !== 'list_item_open' || !first || mark === undefined) continue
      first.content = first.content.slice(mark.length)
      const box = new Token('html_inline', '', 0)
      box.content = `<input type="checkbox" disabled${state === ' ' ? '' : ' checked'}> `
      token.children?.unshift(box)
      item.attrJoin('class', 'task')
    }
  })
}

/** Resolves a link target of a document to a URL. Returns null if the target cannot be resolved. */
export type LinkResolver = (target: string, purpose: 'link' | 'image') => string | null

/**
 * Returns a resolver for the relative links of a document. Links point into the package's repository if it is on GitHub or GitLab, including
 * self-hosted instances, because the URL format of other hosts is unknown. `path` is the path of the document in the archive.
 */
export function repositoryLinks(repository: string | null, path: string): LinkResolver {
  const root = repository === null ? null : rootOf(repository)
  return (target, purpose) => {
    if (/^https?:\/\//i.test(target)) return URL.parse(target)?.href ?? null
    if (/^mailto:/i.test(target)) return purpose === 'link' ? target : null
    if (!root || /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) return null
    const base = `${purpose === 'image' ? root.raw : root.blob}${root.folder}`
    const resolved = URL.parse(target.startsWith('/') ? `.${target}` : target, target.startsWith('/') ? base : `${base}${path}`)
    // Reject targets with so many `..` segments that they leave the repository.
    return resolved?.href.startsWith(purpose === 'image' ? root.raw : root.blob) ? resolved.href : null
  }
}

type Root = { blob: string; raw: string; folder: string }

/** Returns the base URLs for viewing and downloading the files of a repository, and the package's folder in it. */
function rootOf(repository: string): Root | null {
  const url = URL.parse(repository)
  if (!url || !/^https?:$/.test(url.protocol)) return null
  const isGitLab = /(^|\.)gitlab\./.test(url.host)
  if (!isGitLab && !/(^|\.)github\./.test(url.host)) return null
  const [project = '', inside = ''] = url.pathname
    .replace(/\.git\/?$/, '')
    .split(isGitLab ? /\/-\/(?:tree|blob)\// : /(?<=^\/[^/]+\/[^/]+)\/(?:tree|blob)\//)
  const names = project.split('/').filter(Boolean)
  if (names.length < 2 || (!isGitLab && names.length > 2)) return null
  const [branch = 'HEAD', ...folders] = inside.split('/').filter(Boolean)
  const address = `${url.origin}/${names.join('/')}${isGitLab ? '/-' : ''}`
  return { blob: `${address}/blob/${branch}/`, raw: `${address}/raw/${branch}/`, folder: folders.map((name) => `${name}/`).join('') }
}
