import type { MarkdownIt } from 'markdown-it'

/** Renders `- [ ] open` and `- [x] done` as items with a disabled checkbox (GitHub Flavored Markdown, 5.3). */
export function taskLists(parser: MarkdownIt): void {
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
