import MarkdownIt, { type MarkdownIt as Parser } from 'markdown-it'
import { type LinkResolver, placeholderMark } from './links.ts'
import { sanitizeRendered } from './sanitize.ts'

/** Renders Markdown (GitHub flavor: tables, strikethrough, task lists, bare links, inline HTML) as sanitized HTML. */
export const renderMarkdown = (source: string, resolve: LinkResolver): string =>
  sanitizeRendered(markdown.render(source.replaceAll(placeholderMark, '')), resolve)

const markdown = new MarkdownIt({ html: true, linkify: true }).use(taskLists).use(headingIds)
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false })

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
