import MarkdownIt, { type Env as AnyEnv, type MarkdownIt as Parser, type Token } from 'markdown-it'
import { sanitizeRendered } from '../markdown/render.ts'
import { applyDirectives, type Templates } from './directives.ts'
import { Html, nothing } from './html.ts'
import { isReference } from './references.ts'

/** How links and references of a comment become addresses, seen from the page that it is on; null for what leads nowhere. */
export type Addresses = { reference: (name: string) => string | null; link: (target: string) => string | null }

/** What a page knows of doc comments: `level` is that of the heading above. */
export type Comments = { templates: Templates; level: number }

/**
 * A doc comment as HTML that is safe to show. What Markdown alone makes is safe as it is: everything is escaped, and links are chosen below.
 * Only a comment that has HTML in it goes through the sanitiser, which costs twenty times as much.
 */
export function renderComment(doc: string | null, addresses: Addresses, { templates, level }: Comments): Html {
  if (doc === null || !doc.trim()) return nothing
  return render(applyDirectives(doc, templates), { addresses, level })
}

/** The first paragraph of a doc comment, for a list. */
export function renderSummary(doc: string | null, addresses: Addresses, { templates, level }: Comments): Html {
  if (doc === null) return nothing
  const [, first = ''] =
    /^\s*((?:[^\n]*\S[^\n]*(?:\n|$))*)/.exec(applyDirectives(doc.slice(0, maxSummarySource), templates).trimStart()) ?? []
  return first.trim() ? render(first, { addresses, level }) : nothing
}

const maxSummarySource = 4000
/** A longer comment is cut: nobody reads on. */
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
    }
  }
  const made = markdown.renderer.render(tokens, markdown.options, env)
  if (!hasHtml) return new Html(made)
  return new Html(sanitizeRendered(made, addresses.link, emitted))
}

/** Gives a link its address. References have theirs already. */
function address(token: Token, { link }: Addresses, emitted: Set<string>): void {
  const given = String(token.attrGet('href') ?? '')
  const target = token.meta === isOurs ? given : link(given)
  token.attrs = target === null ? [] : [['href', target]]
  if (target !== null) emitted.add(target)
  if (target !== null && token.meta !== isOurs) token.attrSet('rel', 'nofollow ugc noopener')
}

const isOurs = { reference: true }

const markdown = new MarkdownIt({ html: true, linkify: true }).use(references).use(deeperHeadings)
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
// A picture would tell another server who reads the page: its description stands for it.
markdown.renderer.rules.image = (tokens, index) => markdown.utils.escapeHtml(tokens[index]?.content.trim() || 'Picture')

/** `[name]` is a reference unless the comment itself says where it leads. */
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

/** Headings of a comment stand below that of what it describes. */
function deeperHeadings(parser: Parser): void {
  parser.core.ruler.push('deeper-headings', ({ tokens, env }) => {
    const { level } = env as Env
    for (const token of tokens)
      if (token.type === 'heading_open' || token.type === 'heading_close') token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + level)}`
  })
}
