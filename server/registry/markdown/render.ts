import escapeHtml from 'escape-html'
import MarkdownIt, { type Env as AnyEnv, type MarkdownIt as Parser, type Token } from 'markdown-it'
import anchors from 'markdown-it-anchor'
import { full as emoji } from 'markdown-it-emoji'
import footnotes from 'markdown-it-footnote'
import alerts from 'markdown-it-github-alerts'
import { finishDocument, numberSlug, placeholderMark, slugOf, unescapeHtml } from './finish.ts'
import { type CodeBlock, type Language, languageNamed } from './languages.ts'
import type { LinkResolver } from './links.ts'
import { type Formula, insertFormulas, math } from './math.ts'
import { sanitizeRendered } from './sanitize.ts'

/**
 * Renders Markdown (GitHub flavor: tables, strikethrough, task lists, alerts, footnotes, emoji shortcodes, bare links, inline HTML) as sanitized HTML.
 * Formulas are code, unless `env` collects them.
 */
export const renderMarkdown = (source: string, resolve: LinkResolver, env: Env = {}): string =>
  sanitizeRendered(toHtml(source, env), resolve)

/**
 * Renders Markdown as sanitized HTML for the console: with formulas, links to headings, boxes around code and tables, and hints on misleading links. `highlight`
 * returns the HTML of the code blocks; without it, code has no colors.
 */
export async function renderDocument(
  source: string,
  resolve: LinkResolver,
  highlight: ((blocks: CodeBlock[]) => Promise<string[]>) | null,
): Promise<string> {
  const codeBlocks: CodeBlock[] = []
  const formulas: Formula[] = []
  const env = { formulas, ...(highlight && { codeBlocks }) }
  const rendered = await insertFormulas(renderMarkdown(source, resolve, env), formulas)
  const sanitized = highlight ? findHtmlBlocks(rendered, codeBlocks) : rendered
  const highlighted = codeBlocks.length > 0 ? ((await highlight?.(codeBlocks)) ?? []) : []
  return insertCode(finishDocument(sanitized), codeBlocks, highlighted)
}

/** Replaces the placeholders of code blocks by their HTML. */
export function insertCode(html: string, codeBlocks: readonly CodeBlock[], highlighted: readonly string[]): string {
  if (codeBlocks.length === 0) return html
  const codeOf = new Map(codeBlocks.map(({ placeholder }, index) => [placeholder, highlighted[index] ?? '']))
  return html.replaceAll(codePlaceholder, (placeholder) => codeOf.get(placeholder) ?? '')
}

/** `codeBlocks` collects the code blocks in known languages. `codeLanguage` is the language of blocks that name none. `formulas` collects formulas. */
export type Env = AnyEnv & { codeBlocks?: CodeBlock[]; codeLanguage?: Language; formulas?: Formula[]; usedSlugs?: Map<string, number> }

const toHtml = (source: string, env: Env): string => markdown.render(source.replaceAll(placeholderMark, ''), env)

/** Returns a parser for the Markdown of documents and doc comments. Headings have no ids. */
export function createParser(): Parser {
  const parser = new MarkdownIt({ html: true, linkify: true })
    .use(emoji, { shortcuts: {} })
    .use(footnotes)
    // oxlint-disable-next-line typescript/no-unsafe-argument -- its types are those of another major version of markdown-it
    .use(alerts)
    .use(taskLists)
    .use(alignedCells)
    .use(codeInColors)
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: true })
  // GitHub also links `www.example.com`, but no other host names.
  parser.linkify.add('www.', {
    validate: (text, position) =>
      /^[\w-]+(\.[\w-]+)+(\/[^\s<>()"']*[^\s<>()"'.,;:!?])?/.exec(text.slice(position, position + 2000))?.[0].length ?? 0,
    normalize: (match) => void (match.url = `http://${match.url}`),
  })
  const { rules } = parser.renderer
  rules.alert_open = (tokens, index) => {
    const { type, title } = metaOf(tokens[index])
    return `<div class="markdown-alert markdown-alert-${type}"><p class="markdown-alert-title">${escapeHtml(title)}</p>`
  }
  rules.footnote_block_open = () => '<section class="footnotes"><ol>\n'
  rules.footnote_caption = (tokens, index) => String(metaOf(tokens[index]).id + 1)
  return parser
}
const markdown = createParser().use(math).use(anchors, { slugifyWithState: unusedSlug, getTokensText: headingText, tabIndex: false })

/** Returns what a plugin stored in its token. */
const metaOf = (token: Token | undefined) => token?.meta as { id: number; type: string; title: string }
// The HTML of highlighted code is inserted after sanitizing, which would take many times as long with it. The author of a document cannot write
// this placeholder, because it contains a random number.
const nonce = crypto.randomUUID()
const codePlaceholder = new RegExp(`(?<=<code class="language-[\\w+#.-]+">)${placeholderMark}code-${nonce}-\\d+`, 'g')

/** Collects code blocks, so that they are highlighted later. */
function codeInColors({ renderer: { rules } }: Parser): void {
  const { fence: plainFence, code_block: plainCode } = rules
  rules.fence = (tokens, index, options, env, self) => {
    const { content: code = '', info = '' } = tokens[index] ?? {}
    const { codeBlocks, codeLanguage } = env as Env
    const name = /^\s*([\w+#.-]*)/.exec(info)?.[1]
    const language = name ? languageNamed(name) : (codeLanguage ?? null)
    if (!codeBlocks || language === null) return plainFence?.(tokens, index, options, env, self) ?? ''
    return `${addBlock(codeBlocks, code, language)}\n`
  }
  rules.code_block = (tokens, index, options, env, self) => {
    const { codeBlocks, codeLanguage } = env as Env
    if (!codeBlocks || !codeLanguage) return plainCode?.(tokens, index, options, env, self) ?? ''
    return `${addBlock(codeBlocks, tokens[index]?.content ?? '', codeLanguage)}\n`
  }
}

/** Aligns table cells by an attribute instead of a style, which the Content-Security-Policy of API documentation blocks. */
function alignedCells(parser: Parser): void {
  parser.core.ruler.push('aligned-cells', ({ tokens }) => {
    for (const token of tokens) {
      const [, side] = (/^t[dh]_open$/.test(token.type) && /text-align:\s*(\w+)/.exec(String(token.attrGet('style') ?? ''))) || []
      if (side === undefined) continue
      token.attrs = [['align', side]]
    }
  })
}

/** Adds a code block. Returns the HTML of the block with its placeholder. */
function addBlock(codeBlocks: CodeBlock[], code: string, language: Language): string {
  const placeholder = `${placeholderMark}code-${nonce}-${codeBlocks.length}`
  codeBlocks.push({ placeholder, code, language })
  return `<pre><code class="language-${language}">${placeholder}</code></pre>`
}

/** Adds the code blocks that are written as `<pre lang="dart">` in sanitized HTML, and contain nothing but text, with or without a `<code>` element. */
const findHtmlBlocks = (html: string, codeBlocks: CodeBlock[]): string =>
  html.replaceAll(/<pre lang="([\w+#.-]{1,40})">(<code>)?([^<]*)(<\/code>)?<\/pre>/g, (all, name: string, opened, text: string, closed) => {
    const language = languageNamed(name)
    if (language === null || Boolean(opened) !== Boolean(closed)) return all
    return addBlock(codeBlocks, unescapeHtml(text.replace(/^\n/, '')), language)
  })

/** Returns the id of a heading, with a number if the same id was used before. */
function unusedSlug(text: string, { env }: { env: Env }): string {
  env.usedSlugs ??= new Map()
  return numberSlug(slugOf(text), env.usedSlugs)
}

/** Returns the text of a heading for its id. As on GitHub, emoji count by their shortcode. */
function headingText(tokens: readonly { type: string; content: string; markup: string }[]): string {
  return tokens
    .map(({ type, content, markup }) => (type === 'emoji' ? markup : type === 'text' || type === 'code_inline' ? content : ''))
    .join('')
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
