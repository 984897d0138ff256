import sanitizeHtml from 'sanitize-html'
import { isOwnPage, type LinkResolver } from './links.ts'

/** Sanitizes HTML rendered from Markdown. URLs in `own` belong to the surrounding page and stay unchanged. */
export function sanitizeRendered(rendered: string, resolve: LinkResolver, own: ReadonlySet<string> = new Set()): string {
  let links = 0
  let picture: { hasSource: boolean } | null = null
  return sanitizeHtml(rendered, {
    ...allowed,
    transformTags: {
      a: (tagName, attributes) => ({ tagName, attribs: linkAttributes(attributes, resolve, own) }),
      img: (_tagName, attributes) => image(attributes, resolve, { withinLink: links > 0, hasSource: picture?.hasSource ?? false }),
      source: (tagName, { srcset, media }) => {
        const loaded = resolveAll(srcset, resolve)
        if (picture && loaded) picture.hasSource = true
        return { tagName, attribs: { ...(media && { media }), srcset: loaded } }
      },
      '*': (tagName, attributes) => ({ tagName, attribs: aligned(prefixedId(attributes)) }),
    },
    onOpenTag(name) {
      if (name === 'a') links++
      if (name === 'picture') picture = { hasSource: false }
    },
    onCloseTag(name) {
      if (name === 'a') links--
      if (name === 'picture') picture = null
    },
    exclusiveFilter: ({ tag, attribs }) => (tag === 'input' && attribs.type !== 'checkbox') || (tag === 'source' && !attribs.srcset),
  })
}

const allowed: sanitizeHtml.IOptions = {
  allowedTags:
    `h1 h2 h3 h4 h5 h6 p a ul ol li blockquote pre code kbd samp var em strong b i u s del ins sub sup br hr table thead tbody tfoot tr th td
    caption dl dt dd details summary div section span center picture source img figure figcaption abbr q cite dfn small mark tt strike ruby rt rp wbr
    input`.split(/\s+/),
  allowedAttributes: {
    '*': ['id', 'title', 'align', 'lang', 'dir'],
    a: ['href', 'rel', 'data-page'],
    ol: ['start', 'reversed', 'type'],
    table: ['width'],
    th: ['colspan', 'rowspan', 'scope', 'width', 'valign'],
    td: ['colspan', 'rowspan', 'width', 'valign'],
    details: ['open'],
    input: ['type', 'checked', 'disabled'],
    img: ['src', 'alt', 'width', 'height', 'loading', 'decoding'],
    source: ['srcset', 'media'],
  },
  allowedClasses: {
    code: [/^language-[\w+#-]{1,40}$/],
    li: ['task'],
    div: ['markdown-alert', ...['note', 'tip', 'important', 'warning', 'caution'].map((type) => `markdown-alert-${type}`)],
    p: ['markdown-alert-title'],
    sup: ['footnote-ref'],
    section: ['footnotes'],
    a: ['footnote-backref'],
  },
  selfClosing: ['img', 'br', 'hr', 'input', 'source', 'wbr'],
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

/** Aligns an element by an attribute instead of a style, which the Content-Security-Policy of API documentation blocks. */
function aligned({ style, ...attributes }: Attributes): Attributes {
  const [, side] = /(?:^|;)\s*text-align\s*:\s*(left|right|center)\s*(?:;|$)/i.exec(style ?? '') ?? []
  return side === undefined ? attributes : { align: side.toLowerCase(), ...attributes }
}

function linkAttributes({ href, ...rest }: Attributes, resolve: LinkResolver, own: ReadonlySet<string>): Attributes {
  // Only `resolve` names pages.
  delete rest['data-page']
  if (href !== undefined && own.has(href)) return { ...rest, href }
  if (href?.startsWith('#')) return { ...rest, href: `#${idPrefix}${href.slice(1)}` }
  const target = href === undefined ? null : resolve(href, 'link')
  if (href === undefined || target === null) return rest
  if (isOwnPage(target)) return { ...rest, href: target }
  const page = resolve(href, 'page')
  return { ...rest, href: target, ...(page !== null && { 'data-page': page }), rel: 'nofollow ugc noopener' }
}

/** `withinLink`: the image is in a link. `hasSource`: the image is in a `<picture>` element with another source that is loaded. */
type Surroundings = { withinLink: boolean; hasSource: boolean }

/** Resolves an image. An image that is not loaded becomes a link labelled with its description. Within a link, only the description remains. */
function image({ src, alt, ...rest }: Attributes, resolve: LinkResolver, { withinLink, hasSource }: Surroundings): sanitizeHtml.Tag {
  const [address, fragment = ''] = src?.split(/(?=#gh-(?:dark|light)-mode-only$)/) ?? []
  const loaded = address === undefined ? null : resolve(address, 'image')
  if (loaded !== null) return { tagName: 'img', attribs: imageAttributes({ ...rest, src: loaded + fragment, alt: alt ?? '' }) }
  if (hasSource) return { tagName: 'img', attribs: imageAttributes({ ...rest, alt: alt ?? '' }) }
  const target = address === undefined || withinLink ? null : resolve(address, 'link')
  const text = alt?.trim() || 'Picture'
  if (target === null) return { tagName: 'span', attribs: {}, text }
  return { tagName: 'a', attribs: { href: target, ...(!isOwnPage(target) && { rel: 'nofollow ugc noopener' }) }, text }
}

/** Returns the attributes of an image, with a size that browsers understand, and loads it when it comes into view. */
export function imageAttributes({ width, height, ...rest }: Attributes): Attributes {
  const sizes = Object.entries({ width, height }).flatMap(([name, size]) => {
    const [, pixels] = /^\s*(\d{1,4}(?!\d)%?)/.exec(size ?? '') ?? []
    return pixels === undefined ? [] : [[name, pixels] as const]
  })
  return { ...rest, ...Object.fromEntries(sizes), loading: 'lazy', decoding: 'async' }
}

/** Resolves the candidates of a `srcset`. Returns an empty text if none can be loaded. */
const resolveAll = (srcset: string | undefined, resolve: LinkResolver): string =>
  (srcset ?? '')
    .split(/,\s+|,$/)
    .flatMap((candidate) => {
      const [, target = '', descriptor = ''] = /^\s*(\S+)(\s+\d+(?:\.\d+)?[wx])?\s*$/.exec(candidate) ?? []
      const loaded = target ? resolve(target, 'image') : null
      return loaded === null ? [] : [`${loaded.replaceAll(',', '%2C')}${descriptor}`]
    })
    .join(', ')
