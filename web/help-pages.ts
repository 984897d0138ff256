import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import type { Plugin } from 'vite'

export interface HelpPage {
  title: string
  /** The text after the title. */
  html: string
  /** The headings of the second level. */
  headings: { id: string; text: string }[]
}

export interface HelpContents {
  /** The text above the list of pages. */
  html: string
  groups: { title: string; pages: { name: string; title: string; text: string }[] }[]
}

/** A heading with the text below it, up to the next heading. */
export interface HelpSection {
  /** Name of the page. */
  page: string
  /** Title of the page. */
  title: string
  heading: string
  /** Id of the heading. Empty for the text below the title of the page. */
  id: string
  text: string
}

const folder = join(import.meta.dirname, 'help')
const index = join(folder, 'README.md')
const isIndex = (file: string) => basename(file) === 'README.md'

/**
 * Vite plugin that renders the help pages (help/*.md), so that the browser needs no Markdown parser. Each page is a module with a `HelpPage`.
 * `README.md?contents` is the table of contents, and `README.md?search` contains the sections of all pages. The build also contains `help.json`, with
 * the HTML of all pages for browsers without JavaScript.
 */
export function helpPages(): Plugin {
  return {
    name: 'help-pages',
    load: {
      filter: { id: /\/web\/help\/[\w-]+\.md(\?|$)/ },
      handler(id) {
        const [file = '', query] = id.split('?')
        const watched = query === 'search' ? pageFiles() : [file]
        for (const path of watched) this.addWatchFile(path)
        const value = query === 'search' ? watched.flatMap(sectionsOf) : isIndex(file) ? contents() : pageOf(file)
        return { code: `export default ${JSON.stringify(value)}`, moduleType: 'js' }
      },
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'help.json', source: JSON.stringify(plainPages()) })
    },
  }
}

const pageFiles = () => globSync(join(folder, '*.md')).filter((file) => !isIndex(file))
const nameOf = (file: string) => basename(file, '.md')

function pageOf(file: string): HelpPage {
  const { title, tokens } = parse(readFileSync(file, 'utf8'))
  const headings = tokens.flatMap((token, at) => {
    const text = tokens[at + 1]
    return token.type === 'heading_open' && token.tag === 'h2' && text ? [{ id: attribute(token, 'id'), text: textOf(text) }] : []
  })
  return { title, html: render(tokens), headings }
}

/** Returns the HTML of the help pages by path. In the browser, `<base>` applies to links within a page, so they contain its path. */
function plainPages(): Record<string, string> {
  const pages = [index, ...pageFiles()].map((file) => {
    const { title, tokens } = parse(readFileSync(file, 'utf8'))
    const path = isIndex(file) ? 'help' : `help/${nameOf(file)}`
    const html = render(tokens).replaceAll(' href="#', ` href="${path}#`)
    return [`/${path}`, `${isIndex(file) ? '' : '<p><a href="help">All help pages</a></p>'}<h1>${title}</h1>${html}`]
  })
  return Object.fromEntries(pages) as Record<string, string>
}

/** Reads the table of contents: headings of groups, and list items such as `- [Title](name.md): description.` */
function contents(): HelpContents {
  const [start = '', ...groups] = readFileSync(index, 'utf8').split(/^## /m)
  return {
    html: render(parse(start).tokens),
    groups: groups.map((group) => ({
      title: group.split('\n', 1)[0] ?? '',
      pages: Array.from(group.matchAll(/^- \[(.+?)\]\((.+?)\.md\): (.+)$/gm), ([, title = '', name = '', text = '']) => ({
        name,
        title,
        text,
      })),
    })),
  }
}

function sectionsOf(file: string): HelpSection[] {
  const { title, tokens } = parse(readFileSync(file, 'utf8'))
  const sections: HelpSection[] = [{ page: nameOf(file), title, heading: title, id: '', text: '' }]
  for (const [at, token] of tokens.entries()) {
    const previous = tokens[at - 1]
    const last = sections.at(-1)
    if (previous?.type === 'heading_open') {
      sections.push({ page: nameOf(file), title, heading: textOf(token), id: attribute(previous, 'id'), text: '' })
    } else if (last && (token.type === 'inline' || token.type === 'fence')) last.text += `${textOf(token)} `
  }
  return sections.map((section) => ({ ...section, text: section.text.replaceAll(/\s+/g, ' ').trim() }))
}

const parser = new MarkdownIt({ html: true })
parser.renderer.rules.html_block = (tokens, at) => {
  const { content = '' } = tokens[at] ?? {}
  if (content.startsWith('<!--')) return ''
  throw new Error(`HTML in a help page: ${content}`)
}
// The console adds a button to copy the code.
const { fence } = parser.renderer.rules
parser.renderer.rules.fence = (...args) => `<div class="code-block">${fence?.(...args)}</div>\n`
// Long names, such as those of settings, may break after an underscore.
const { code_inline: codeInline } = parser.renderer.rules
parser.renderer.rules.code_inline = (...args) => codeInline?.(...args).replaceAll('_', '_<wbr>') ?? ''

const render = (tokens: Token[]) => parser.renderer.render(tokens, parser.options, {})

/** Splits a page into its title and the tokens after it, with ids of headings and with links within the console. */
function parse(source: string): { title: string; tokens: Token[] } {
  const [heading, title, , ...tokens] = parser.parse(source, {})
  if (heading?.tag !== 'h1' || !title) throw new Error(`A help page does not begin with its title: ${source.slice(0, 100)}`)
  addHeadingIds(tokens)
  for (const { children } of tokens) if (children) resolveLinks(children)
  return { title: textOf(title), tokens }
}

const attribute = (token: Token, name: string) => String(token.attrGet(name) ?? '')

/** Returns the text of a token without Markdown. */
const textOf = ({ children, content }: Token): string =>
  children ? children.map((child) => (child.type === 'softbreak' ? ' ' : child.content)).join('') : content

/** Adds the ids that GitHub gives to headings. */
function addHeadingIds(tokens: Token[]) {
  const used = new Map<string, number>()
  for (const [at, token] of tokens.entries()) {
    const text = tokens[at + 1]
    if (token.type !== 'heading_open' || !text) continue
    const slug = textOf(text)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = used.get(slug) ?? 0
    used.set(slug, count + 1)
    token.attrSet('id', count ? `${slug}-${count}` : slug)
  }
}

/** Points links between pages to the console's routes, relative to its `<base>`. Removes links to other files of the repository. */
function resolveLinks(tokens: Token[]) {
  let isRemoved = false
  for (const token of tokens) {
    if (token.type === 'link_close' && isRemoved) token.hidden = true
    if (token.type !== 'link_open') continue
    const target = attribute(token, 'href')
    const [, name, hash = ''] = /^([\w-]+)\.md(#.*)?$/.exec(target) ?? []
    isRemoved = !name && !/^(https?:|mailto:|#)/.test(target)
    if (isRemoved) token.hidden = true
    else if (name) token.attrSet('href', `${name === 'README' ? 'help' : `help/${name}`}${hash}`)
  }
}
