import MarkdownIt, { type Env as AnyEnv, type MarkdownIt as Parser, type Token } from 'markdown-it'
import type { LinkResolver } from '../../registry/markdown/links.ts'
import { sanitizeRendered } from '../../registry/markdown/sanitize.ts'
import { applyDirectives, type Templates } from './directives.ts'
import { Html, nothing } from './html.ts'
import { isReference } from './references.ts'

/** Resolve the references of a doc comment to URLs relative to the page, and its links and images, or to null if they have no target. */
export type Addresses = { reference: (name: string) => string | null; link: LinkResolver }

/** Context for rendering the doc comments of a page. `level` is the level of the enclosing heading. */
export type Comments = { templates: Templates; level: number }

/**
 * Renders a doc comment as safe HTML. Only comments that contain HTML or images are sanitized, which takes twenty times as long: the Markdown renderer
 * escapes text, and `addresses` chooses the link targets.
 */
export function renderComment(doc: string | null, addresses: Addresses, { templates, level }: Comments): Html {
  if (doc === null || !doc.trim()) return nothing
  return render(applyDirectives(doc, templates), { addresses, level })
}

/** Renders the first paragraph of a doc comment, for lists. */
export function renderSummary(doc: string | null, addresses: Addresses, { templates, level }: Comments): Html {
  if (doc === null) return nothing
  const [, first = ''] =
    /^\s*((?:[^\n]*\S[^\n]*(?:\n|$))*)/.exec(applyDirectives(doc.slice(0, maxSummarySource), templates).trimStart()) ?? []
  return first.trim() ? render(first, { addresses, level }) : nothing
}

const maxSummarySource = 4000
/** Maximum number of characters rendered. Longer comments are truncated. */
const maxSource = 200_000

type Env = AnyEnv & { addresses: Addresses; level: number }

function render(source: string, env: Env): Html {
  const { addresses } = env
  const tokens = markdown.parse(source.slice(0, maxSource), env)
  const emitted = new Set<string>()
  let hasHtml = false
  for (const { type, children } of tokens) {
    hasHtml ||= type === 'html_block'
    for (const child of children ?? []) {
      if (child.type === 'html_inline') hasHtml = true
      else if (child.type === 'link_open') address(child, addresses, emitted)
      else if (child.type === 'image') hasHtml = true
    }
  }
  const made = markdown.renderer.render(tokens, markdown.options, env)
  if (!hasHtml) return new Html(made)
  return new Html(sanitizeRendered(made, addresses.link, emitted))
}

/** Sets the target of a link. References are resolved before. */
function address(token: Token, { link }: Addresses, emitted: Set<string>): void {
  const given = String(token.attrGet('href') ?? '')
  const target = token.meta === isOurs ? given : link(given, 'link')
  token.attrs = target === null ? [] : [['href', target]]
  if (target !== null) emitted.add(target)
  if (target !== null && token.meta !== isOurs) token.attrSet('rel', 'nofollow ugc noopener')
}

const isOurs = { reference: true }
const markdown = new MarkdownIt({ html: true, linkify: true }).use(references).use(deeperHeadings)
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })

/** Treats `[name]` as a reference unless the comment defines a link with this name. */
function references(parser: Parser): void {
  parser.inline.ruler.before('link', 'dart-reference', (state, silent) => {
    if (state.src.charCodeAt(state.pos) !== 0x5b) return false
    const end = state.src.indexOf(']', state.pos + 1)
    if (end < 0 || end - state.pos > maxReference || /[[(:]/.test(state.src[end + 1] ?? '')) return false
    const name = state.src.slice(state.pos + 1, end)
    const env = state.env as Env
    if (!isReference(name) || env.references?.[parser.utils.normalizeReference(name)] || state.linkLevel > 0) return false
    if (!silent) {
      const target = env.addresses.reference(name)
      if (target === null) state.push('code_inline', 'code', 0).content = name
      else {
        const opened = state.push('link_open', 'a', 1)
        opened.attrs = [['href', target]]
        opened.meta = isOurs
        state.push('text', '', 0).content = name
        state.push('link_close', 'a', -1)
      }
    }
    state.pos = end + 1
    return true
  })
}

const maxReference = 200

/** Shifts the headings in a comment below the heading of the documented element. */
function deeperHeadings(parser: Parser): void {
  parser.core.ruler.push('deeper-headings', ({ tokens, env }) => {
    const { level } = env as Env
    for (const token of tokens)
      if (token.type === 'heading_open' || token.type === 'heading_close') token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + level)}`
  })
}
