import type { MarkdownIt as Parser, Token } from 'markdown-it'
import type { CodeHighlighter } from '../../registry/markdown/highlight.ts'
import { placeholderMark } from '../../registry/markdown/finish.ts'
import type { CodeBlock } from '../../registry/markdown/languages.ts'
import { isOwnPage, type LinkResolver } from '../../registry/markdown/links.ts'
import { createParser, type Env as AnyEnv, insertCode } from '../../registry/markdown/render.ts'
import { sanitizeRendered } from '../../registry/markdown/sanitize.ts'
import { applyDirectives, type Templates } from './directives.ts'
import { Html, nothing } from './html.ts'
import { isReference } from './references.ts'

/** Resolve the references of a doc comment to URLs relative to the page, and its links and images, or to null if they have no target. */
export type Addresses = { reference: (name: string) => string | null; link: LinkResolver }

/** What the doc comments of a package share: their templates, the highlighter of their code, and the number of those with footnotes so far. */
export type Comments = { templates: Templates; highlight: CodeHighlighter; withFootnotes: number }

/** Where a doc comment is shown. `level` is the level of the enclosing heading. */
type Position = { addresses: Addresses; level: number }

/**
 * Renders a doc comment as safe HTML. Only comments that contain HTML or images are sanitized, which takes twenty times as long: the Markdown renderer
 * escapes text, and `addresses` chooses the link targets.
 */
export function renderComment(doc: string | null, position: Position, comments: Comments): Html {
  if (doc === null || !doc.trim()) return nothing
  return render(applyDirectives(doc, comments.templates), position, comments)
}

/** Renders the first paragraph of a doc comment, for lists. */
export function renderSummary(doc: string | null, position: Position, comments: Comments): Html {
  if (doc === null) return nothing
  const [, first = ''] =
    /^\s*((?:[^\n]*\S[^\n]*(?:\n|$))*)/.exec(applyDirectives(doc.slice(0, maxSummarySource), comments.templates).trimStart()) ?? []
  return first.trim() ? render(first, position, comments) : nothing
}

const maxSummarySource = 4000
/** Maximum number of characters rendered. Longer comments are truncated. */
const maxSource = 200_000

type Env = AnyEnv & Position & { docId?: string }

function render(source: string, { addresses, level }: Position, comments: Comments): Html {
  const codeBlocks: CodeBlock[] = []
  const env: Env = { addresses, level, codeBlocks, codeLanguage: 'dart' }
  // The ids of footnotes must differ among the comments of a page.
  if (source.includes('[^')) env.docId = String(++comments.withFootnotes)
  const tokens = markdown.parse(source.slice(0, maxSource).replaceAll(placeholderMark, ''), env)
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
  const safe = hasHtml ? sanitizeRendered(made, addresses.link, emitted) : made
  return new Html(insertCode(safe, codeBlocks, comments.highlight(codeBlocks)))
}

/** Sets the target of a link. References are resolved before. */
function address(token: Token, { link }: Addresses, emitted: Set<string>): void {
  const given = String(token.attrGet('href') ?? '')
  const target = token.meta === isOurs ? given : link(given, 'link')
  token.attrs = target === null ? [] : [['href', target]]
  if (target === null) return
  emitted.add(target)
  if (token.meta !== isOurs && !isOwnPage(target)) token.attrSet('rel', 'nofollow ugc noopener')
}

const isOurs = { reference: true }
const markdown = createParser().use(references).use(deeperHeadings)

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
