import { CST, Lexer } from 'yaml'
import { refuse } from './refuse.ts'

/**
 * Checks the tokens of a YAML text before parsing. Rejects anchors, aliases, directives and custom tags, and input that would take the parser a
 * second or overflow its stack: deep nesting of brackets or indicators, and too many tokens. Throws `PackageRejected`.
 */
export function checkTokens(text: string, file: string): void {
  const seen: Seen = { tokens: 0, brackets: 0, indicators: 0 }
  let plain = false
  for (const token of new Lexer().lex(text)) {
    const type = plain ? 'scalar' : CST.tokenType(token)
    plain = token === CST.SCALAR && !plain
    const foreign = (type !== null && notPlain[type]) || (type === 'tag' && !coreTags.has(token) && 'a tag')
    if (foreign) refuse(`${file} has ${foreign} (${token}). Write plain YAML, without anchors, aliases, tags or directives.`)
    count(seen, type)
    if (seen.tokens > maxTokens) refuse(`${file} has too many fields. Shorten it.`)
    if (seen.brackets > maxDepth || seen.indicators > maxDepth) refuse(`${file} is nested more than ${maxDepth} deep. Flatten it.`)
  }
}

type Seen = { tokens: number; brackets: number; indicators: number }

/** A pubspec of 128 KiB with one asset per line has 30,000 tokens. */
const maxTokens = 40_000
const maxDepth = 64
const coreTags = new Set(['!!str', '!!int', '!!float', '!!bool', '!!null', '!!map', '!!seq'])
const notPlain: Partial<Record<CST.TokenType, string>> = { anchor: 'an anchor', alias: 'an alias', 'directive-line': 'a directive' }

function count(seen: Seen, type: CST.TokenType | null) {
  seen.tokens += 1
  if (type === 'flow-map-start' || type === 'flow-seq-start') seen.brackets += 1
  if (type === 'flow-map-end' || type === 'flow-seq-end') seen.brackets -= 1
  if (type === 'seq-item-ind' || type === 'explicit-key-ind') seen.indicators += 1
  if (type === 'newline') seen.indicators = 0
}
