import escapeHtml from 'escape-html'
import { directionMarks } from './languages.ts'

// Rendered texts are cached by content for all packages, so URLs of the version start with a placeholder that `insertAddresses` replaces. The
// placeholders contain a noncharacter, which `renderMarkdown` removes from the source.
export const placeholderMark = '\u{FDD0}'
/** Placeholder for the URL of the version's page in the console. */
export const pagePlaceholder = `${placeholderMark}page`
/** Placeholder for the URL under which the files of the version are served as bytes. */
export const rawPlaceholder = `${placeholderMark}raw`
/** Placeholder before the URL of a remote image in API documentation, which `insertImages` replaces. */
export const imagePlaceholder = `${placeholderMark}image:`

/**
 * Completes sanitized HTML: gives headings in HTML an id, adds a link to each heading, puts code blocks and tables into boxes, which scroll, marks
 * table cells with a short text, which need no minimum width, and names the host of links whose text names another one. The input must be the output
 * of the sanitizer, which closes all tags and escapes attributes.
 */
export const finishDocument = (html: string): string => addHeadingLinks(nameHosts(boxed(html)))

const boxed = (html: string): string =>
  html
    .replaceAll(/<table(?=[ >])/g, '<div class="table-box"><table')
    .replaceAll('</table>', '</table></div>')
    .replaceAll(/<(t[dh])((?: [^>]*)?>)([^<]{0,12}<\/\1>)/g, '<$1 class="short"$2$3')
    .replaceAll(/<pre(?=[ >])/g, '<div class="code-block"><pre')
    .replaceAll('</pre>', '</pre></div>')

/** Code blocks in a heading are not part of its text. */
const placeholders = new RegExp(`${placeholderMark}[\\w-]*`, 'gu')

function addHeadingLinks(html: string): string {
  const used = new Map(Array.from(html.matchAll(/ id="doc-([^"]*)"/g), ([, id = '']) => [id, 1]))
  return html.replaceAll(/<(h[1-6])( [^>]*)?>([^]*?)<\/\1>/g, (_all, tag: string, attributes: string | undefined = '', content: string) => {
    const text = textOf(content.replaceAll(placeholders, ''))
    const own = / id="([^"]*)"/.exec(attributes)?.[1]
    const slug = own === undefined ? slugOf(text) : ''
    const id = own ?? (slug && `doc-${numberSlug(slug, used)}`)
    if (!id) return `<${tag}${attributes}>${content}</${tag}>`
    const heading = `<${tag}${attributes}${own === undefined ? ` id="${id}"` : ''}>${content}</${tag}>`
    return `<div class="heading">${heading}<a class="heading-link" href="#${id}" aria-label="${escapeHtml(`Permalink: ${text}`)}">#</a></div>`
  })
}

/** Returns a slug with the number of its earlier uses. Numbers the uses of each slug, because trying one number after the other is quadratic. */
export function numberSlug(slug: string, used: Map<string, number>): string {
  const count = used.get(slug) ?? 0
  used.set(slug, count + 1)
  return count ? `${slug}-${count}` : slug
}

/** Returns the id that GitHub gives to a heading with this text. */
export function slugOf(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replace(/ /g, '-')
}

/** Returns the text of sanitized HTML. */
const textOf = (html: string): string => unescapeHtml(html.replaceAll(/<[^>]*>/g, '')).trim()

/** Returns the text that sanitized HTML without elements stands for. */
export const unescapeHtml = (html: string): string =>
  html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

/** Adds the host of a link if its text looks like an address on another host or hides its direction, or if its address can look like another one. */
function nameHosts(html: string): string {
  // For browsers, a link also ends at the next one.
  return html.replaceAll(/<a( [^>]*)>([^]*?)(<\/a>|(?=<a[ >]))/g, (all, attributes: string, content: string) => {
    const href = / href="(https?:[^"]*)"/.exec(attributes)?.[1]
    const url = href === undefined ? null : URL.parse(textOf(href))
    const host = url && hostOf(url)
    if (!host || !isMisleading(textOf(content), url, host)) return all
    return `${all} <small class="link-host">(${escapeHtml(host)})</small>`
  })
}

function isMisleading(text: string, url: URL, host: string): boolean {
  if (host.includes('xn--') || url.username || url.password || text.search(directionMarks) >= 0) return true
  const [, address, name] = claimedAddress.exec(text.replaceAll(/\p{Cf}/gu, '')) ?? []
  const claim = address ?? (name && `https://${name}`)
  const claimed = claim === undefined ? null : URL.parse(claim)
  return claimed !== null && hostOf(claimed) !== host
}

/** Matches a URL in a text, or the host in a common domain that a text starts with. Names such as `http.Client` and `README.md` are not hosts. */
const claimedAddress =
  /(https?:\/\/[^\s/?#]+)|^[^\p{L}\p{N}-]*((?:[\p{L}\d-]+\.)+(?:app|ch|co|com|de|dev|edu|eu|fr|gov|info|io|jp|net|org|uk)(?=[/?#:\s]|$))/iu

const hostOf = ({ host }: URL): string => host.replace(/^www\./, '')
