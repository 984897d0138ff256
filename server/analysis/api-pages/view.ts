import type { Described } from '../dart/api.ts'
import { pagePlaceholder } from '../../registry/markdown/finish.ts'
import { documentationLinks, type LinkResolver } from '../../registry/markdown/links.ts'
import { type Comments, renderComment, renderSummary } from './doc-comment.ts'
import { Html, html, nothing } from './html.ts'
import { resolveReference, type Target } from './references.ts'
import { hasPage, type LibraryPage, type Place, type Site } from './site.ts'

/** Rendering functions for a page. URLs of pages of this server have a placeholder (`insertAddresses`). */
export type View = {
  site: Site
  path: string
  /** Returns the URL of a page or anchor. */
  to: (target: Target) => string
  /** Renders a doc comment below a heading of the given level. */
  comment: (doc: string | null, level: number, signature?: string) => Html
  summary: (doc: string | null) => Html
  signature: (described: Described) => Html
  deprecation: (described: Described) => Html
  source: (described: Described) => Html
}

/** Shared context of all pages. */
export type PageContext = { site: Site; comments: Comments }

/** Creates the rendering functions for the page at `path`, which may belong to a library or a type. */
export function viewOf({ site, comments }: PageContext, path: string, where: { libraryPage?: LibraryPage; place?: Place } = {}): View {
  const [libraryPage, place] = [where.libraryPage ?? null, where.place ?? null]
  const link = documentationLinks(site.about.repository, place?.declaration.source.path ?? `lib/${libraryPage?.library.path ?? ''}`)
  const addresses = (parameters: string) => ({
    link,
    reference(name: string) {
      const target = resolveReference(name, { libraryPage, place, parameters }, site)
      return target && addressOf(target)
    },
  })
  const typeAddress = (name: string) => {
    const found = site.find(name, libraryPage)
    return found && found.path !== path && (hasPage(found.declaration) || found.declaration.kind === 'typedef') ? addressOf(found) : null
  }
  return {
    site,
    path,
    to: addressOf,
    comment: (doc, level, signature = '') => renderComment(doc, { addresses: addresses(signature), level }, comments),
    summary: (doc) => renderSummary(doc, { addresses: { ...addresses(''), link: withoutImages(link) }, level: 3 }, comments),
    signature: ({ signature, name }) => html`<pre class="signature">${renderSignature(signature, name, typeAddress)}</pre>`,
    deprecation: ({ deprecated }) =>
      deprecated === null
        ? nothing
        : html`<div class="deprecated">
            <strong>Deprecated</strong>${renderComment(deprecated, { addresses: addresses(''), level: 4 }, comments)}
          </div>`,
    source: ({ source }) => sourceLink(source, link),
  }
}

/** Lists describe declarations without their images. */
const withoutImages =
  (link: LinkResolver): LinkResolver =>
  (target, purpose) =>
    purpose === 'image' ? null : link(target, purpose)

/** Returns the address of a page or anchor. */
const addressOf = ({ path, anchor }: Target): string =>
  `${pagePlaceholder}/api${path && `/${path}`}${anchor === null ? '' : `#${encodeURIComponent(anchor)}`}`

function sourceLink({ path, line }: Described['source'], link: LinkResolver): Html {
  const address = link(`/${path.split('/').map(encodeURIComponent).join('/')}`, 'link')
  const text = `${path}:${line}`
  return html`<p class="source">${address === null ? html`<span>${text}</span>` : html`<a href="${address}#L${line}">${text}</a>`}</p>`
}

/** Renders a signature with links to the types of the package (`typeAddress`). Long signatures have one parameter per line. */
function renderSignature(signature: string, name: string, typeAddress: (name: string) => string | null): Html {
  const shown = layOut(signature.slice(0, maxShown), name.replace(/^operator\s*/, ''))
  const pieces: Html[] = []
  let at = 0
  for (const { 0: word, index } of shown.matchAll(words)) {
    // Names of declarations can be words such as `get`.
    if (!/^[A-Za-z_$]/.test(word) || word === name) continue
    const address = typeAddress(word)
    if (address === null && !isKeyword.has(word)) continue
    pieces.push(
      html`${shown.slice(at, index)}`,
      address === null ? html`<span class="hl-k">${word}</span>` : html`<a href="${address}">${word}</a>`,
    )
    at = index + word.length
  }
  return html`<code>${pieces}${shown.slice(at)}${signature.length > maxShown ? '…' : null}</code>`
}

const maxShown = 20_000
const maxLine = 90

/** Matches strings, which are skipped, and names. */
const words = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_$][\w$]*/g
const isKeyword = new Set(
  `abstract base class const covariant enum extends extension external factory final get implements interface late mixin on operator
  required sealed set static type typedef var with`.split(/\s+/),
)

/** Puts each parameter of a long signature on its own line. */
function layOut(signature: string, name: string): string {
  if (signature.length <= maxLine) return signature
  const start = Math.max(0, signature.indexOf(`${name}(`), signature.indexOf(`${name}<`))
  const open = openingOf(signature, start)
  const list = open < 0 ? null : parametersOf(signature, open + 1)
  if (!list || list.parameters.length < 2) return signature
  const { parameters, section, end } = list
  const first = parameters.findIndex(({ isInSection }) => isInSection)
  const lines = (some: Parameters['parameters']) => some.map(({ text }) => `\n  ${text}`).join(',')
  const head = signature.slice(0, open + 1)
  const tail = signature.slice(end)
  if (first < 0) return `${head}${lines(parameters)},\n${tail}`
  const required = first > 0 ? `${lines(parameters.slice(0, first))}, ` : ''
  return `${head}${required}${section}${lines(parameters.slice(first))},\n${section === '{' ? '}' : ']'}${tail}`
}

/** Returns the index of the parenthesis that opens the parameter list, after any type parameters; -1 if there is no list. */
function openingOf(text: string, start: number): number {
  for (let [at, depth] = [start, 0]; at < text.length; at++) {
    if (text[at] === '<') depth += 1
    else if (text[at] === '>') depth -= 1
    else if (text[at] === '(' && depth <= 0) return at
  }
  return -1
}

type Parameters = { parameters: { text: string; isInSection: boolean }[]; section: string; end: number }

/** Parses parameters up to the closing parenthesis. `section` opens the optional ones. Returns null if the list is not closed. */
function parametersOf(text: string, from: number): Parameters | null {
  const parameters: Parameters['parameters'] = []
  let [depth, section, piece] = [0, '', '']
  const add = () => {
    if (piece.trim()) parameters.push({ text: piece.trim(), isInSection: section !== '' })
    piece = ''
  }
  for (const { 0: part, index } of text.slice(from).matchAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|=>|[()[\]{}<>,]|[^()[\]{}<>,'"=]+|./gs)) {
    if (depth === 0 && part === ')') return (add(), { parameters, section, end: from + index })
    if (depth === 0 && !section && !piece.trim() && (part === '{' || part === '[')) section = part
    else if (depth === 0 && part === ',') add()
    else if (depth > 0 || !(section && (part === '}' || part === ']'))) {
      piece += part
      depth += '([{<'.includes(part) ? 1 : ')]}>'.includes(part) ? -1 : 0
    }
  }
  return null
}
