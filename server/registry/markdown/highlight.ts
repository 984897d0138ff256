import { createHighlighterCore, type HighlighterCore } from 'shiki/core'
import { createOnigurumaEngine } from 'shiki/engine/oniguruma'
import type { GrammarState, ThemedToken } from 'shiki/types'
import theme from 'shiki/themes/github-light-default.mjs'
import { type CodeBlock, escapeCode, grammars, highlightLimits, type Language, languageNamed, splitLines } from './languages.ts'

// The WebAssembly engine needs a third of the time of the JavaScript engine for the first block of a language (all grammars of a typical README:
// 0.1 instead of 0.4 s), which matters more here than its speed afterwards, because threads are short-lived and results are cached.

/** Lines that are tokenized at a time, between checks of the time limit. */
const linesAtOnce = 100

let highlighter: Promise<HighlighterCore> | undefined

/** Loads the grammars of languages. Highlighting a language that is not loaded is an error. */
export async function loadLanguages(languages: Iterable<Language>): Promise<HighlighterCore> {
  highlighter ??= createHighlighterCore({ themes: [theme], langs: [], engine: createOnigurumaEngine(import('shiki/wasm')) })
  const loaded = await highlighter
  for (const language of new Set(languages)) if (!isLoaded(loaded, language)) await loaded.loadLanguage(grammars[language])
  return loaded
}

/** Maximum number of languages that are highlighted in one document, because grammars take up to 20 MB. */
export const maxLanguages = 12

/** Returns the HTML of code blocks. */
export type CodeHighlighter = (blocks: readonly CodeBlock[]) => string[]

/**
 * Loads what the code blocks in Markdown texts need. Code that names no language is Dart. The function highlights blocks until they have
 * `maxCharacters` in total, which limits the work instead of the time: the same texts always have the same colors.
 */
export async function codeHighlighter(texts: Iterable<string>, maxCharacters: number): Promise<CodeHighlighter> {
  const named = new Set<Language>()
  for (const text of texts) {
    if (/^(?: {4}|\t)/m.test(text)) named.add('dart')
    for (const [, name] of text.matchAll(/(?:```|~~~)[ \t]*([\w+#.-]*)/g)) named.add((name ? languageNamed(name) : null) ?? 'dart')
  }
  const languages = new Set([...named].slice(0, maxLanguages))
  const loaded = languages.size > 0 ? await loadLanguages(languages) : null
  let left = maxCharacters
  return (blocks) =>
    blocks.map(({ code, language }) => {
      left -= code.length
      const lines = loaded && left >= 0 && languages.has(language) ? highlight(loaded, code, language) : splitLines(code).map(escapeCode)
      return `${lines.join('\n')}\n`
    })
}

const isLoaded = (loaded: HighlighterCore, language: Language) => loaded.getLoadedLanguages().includes(language)

/** Returns the CPU time of this thread in milliseconds: on a busy machine, a text gets as many colors as on an idle one. */
export function spentCpu(): number {
  // Node.js 22 measures only the whole process.
  const { user, system } = (process as Partial<NodeJS.Process>).threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}

/**
 * Highlights code. Returns the HTML of each line, in which tokens are `<span>` elements with one of the classes in `tokenClasses`. After `deadline` (of `spentCpu`), the
 * remaining lines have no colors.
 */
export function highlight(loaded: HighlighterCore, code: string, lang: Language, deadline = Infinity): string[] {
  const lines = splitLines(code)
  if (code.length > highlightLimits.characters) return lines.map(escapeCode)
  const made: string[] = []
  let grammarState: GrammarState | undefined
  while (made.length < lines.length && spentCpu() < deadline) {
    const part = lines.slice(made.length, made.length + linesAtOnce)
    // No limit per line: it would be one of the clock, so that on a busy machine, lines would have no colors.
    const options = { lang, theme: theme.name ?? '', tokenizeMaxLineLength: highlightLimits.charactersPerLine, tokenizeTimeLimit: 0 }
    const tokens = loaded.codeToTokensBase(part.join('\n'), { ...options, ...(grammarState && { grammarState }) })
    grammarState = loaded.getLastGrammarState(tokens)
    made.push(...tokens.map(lineHtml))
  }
  return [...made, ...lines.slice(made.length).map(escapeCode)]
}

function lineHtml(tokens: ThemedToken[]): string {
  let [html, text, current] = ['', '', '']
  for (const { content, color } of tokens) {
    const name = tokenClasses[color?.toLowerCase() ?? ''] ?? ''
    if (name !== current && content.trim()) {
      html += element(text, current)
      ;[text, current] = ['', name]
    }
    text += content
  }
  return html + element(text, current)
}

const element = (text: string, name: string): string =>
  name && text ? `<span class="${name}">${escapeCode(text)}</span>` : escapeCode(text)

/** Classes by color of the theme. The style sheet of the console sets their colors for light and dark. */
const tokenClasses: Record<string, string> = {
  '#6e7781': 'hl-c', // comments
  '#cf222e': 'hl-k', // keywords
  '#0550ae': 'hl-n', // numbers, constants, types of the language
  '#953800': 'hl-t', // names of types and variables
  '#8250df': 'hl-f', // functions
  '#116329': 'hl-g', // tags, keys, inserted lines
  '#0a3069': 'hl-s', // strings
  '#82071e': 'hl-d', // deleted lines, errors
}
