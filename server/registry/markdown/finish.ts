import escapeHtml from 'escape-html'
import { placeholderMark } from './placeholders.ts'

/**
 * Completes sanitized HTML: gives headings in HTML an id, adds a link to each heading, puts code blocks and tables into boxes, which scroll, and names
 * the host of links whose text names another one. The input must be the output of the sanitizer, which closes all tags and escapes attributes.
 */
export const finishDocument = (html: string): string => addHeadingLinks(nameHosts(boxed(html)))

const boxed = (html: string): string =>
  html
    .replaceAll(/<table(?=[ >])/g, '<div class="table-box"><table')
    .replaceAll('</table>', '</table></div>')
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
    const id = own ?? (slug && `doc-${numbered(slug, used)}`)
    if (!id) return `<${tag}${attributes}>${content}</${tag}>`
    const heading = `<${tag}${attributes}${own === undefined ? ` id="${id}"` : ''}>${content}</${tag}>`
    return `<div class="heading">${heading}<a class="heading-link" href="#${id}" aria-label="${escapeHtml(`Permalink: ${text}`)}">#</a></div>`
  })
}

/** Returns a slug with the number of its earlier uses. Numbers the uses of each slug, because trying one number after the other is quadratic. */
export function numbered(slug: string, used: Map<string, number>): string {
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
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .trim()

/** Adds the host of a link if its text looks like an address on another host, or if the host can look like another one. */
function nameHosts(html: string): string {
  return html.replaceAll(/<a href="(https?:[^"]*)"([^>]*)>([^]*?)<\/a>/g, (all, href: string, attributes: string, content: string) => {
    const host = hostOf(textOf(href))
    const [claim] = claimedAddress.exec(textOf(content)) ?? []
    const claimed = claim === undefined ? null : hostOf(/^https?:/i.test(claim) ? claim : `https://${claim}`)
    const isMisleading = host !== null && (host.includes('xn--') || (claimed !== null && claimed !== host))
    return isMisleading ? `<a href="${href}"${attributes}>${content}</a> <small class="link-host">(${escapeHtml(host)})</small>` : all
  })
}

/** Matches a text that starts with a URL or with the name of a host in a common domain. Names such as `http.Client` and `README.md` are not hosts. */
const claimedAddress =
  /^(?:https?:\/\/[^\s/?#]+|(?:[\p{Ll}\d-]+\.)+(?:app|ch|co|com|de|dev|edu|eu|fr|gov|info|io|jp|net|org|uk)(?=[/?#:\s]|$))/u

const hostOf = (url: string): string | null => URL.parse(url)?.host.replace(/^www\./, '') ?? null
