import { CST, isMap, isScalar, isSeq, Lexer, LineCounter, type Node, type Pair, parseDocument } from 'yaml'
import { quoted, rejectArchive } from './reject.ts'

/** Values that JSON can represent. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/** Returns whether a value is a mapping. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Parses YAML that is equivalent to JSON: a single mapping with unique text keys, finite numbers, and no aliases, anchors or custom tags. Throws
 * `PackageRejected` with the line number. `file` is the name used in messages. Time and memory are bounded for a text of 128 KiB.
 */
export function readYaml(text: string, file: string): JsonObject {
  checkTokens(text, file)
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, schema: 'core', logLevel: 'error' })
  const [error] = document.errors
  if (error?.code === 'MULTIPLE_DOCS') rejectArchive(`${file} holds more than one document. Remove the second \`---\` and what follows it.`)
  if (error) rejectArchive(`${file} line ${lines.linePos(error.pos[0]).line} is not valid YAML: ${error.message}`)
  const root = document.contents
  if (!isMap(root)) rejectArchive(`${file} must be a mapping of fields, such as \`name: my_package\`.`)
  return mapping(root.items, 1, (fault, node) => rejectArchive(`${file} line ${lines.linePos(node?.range?.[0] ?? 0).line}: ${fault}`))
}

type Fail = (fault: string, node?: Node | null) => never

/** Maximum nesting: sufficient for any pubspec, and far from a stack overflow. */
const maxDepth = 64

function value(node: unknown, depth: number, fail: Fail): Json {
  if (depth > maxDepth) return fail(`fields are nested more than ${maxDepth} deep.`)
  if (node === null || node === undefined) return null
  if (isMap(node)) return mapping(node.items, depth, fail)
  if (isSeq(node)) return node.items.map((each) => value(each, depth + 1, fail))
  return isScalar(node) ? scalar(node.value, (fault) => fail(fault, node)) : fail('use plain fields, lists and values only.')
}

/** Checks keys for duplicates with a map: the library's own check takes quadratic time. */
function mapping(pairs: Pair[], depth: number, fail: Fail): JsonObject {
  const entries = new Map<string, Json>()
  for (const { key, value: content } of pairs) {
    const node = isScalar(key) ? key : null
    const name = typeof node?.value === 'string' ? node.value : fail('every key must be text; put quotes around it.', node)
    if (name === '__proto__' || !storable(name)) fail(`the key ${quoted(name)} is not allowed.`, node)
    if (entries.has(name)) fail(`the key ${quoted(name)} appears twice. Remove one.`, node)
    entries.set(name, value(content, depth + 1, fail))
  }
  return Object.fromEntries(entries)
}

/** Adding 0 converts -0 to 0, because JSON has no -0. */
function scalar(content: unknown, fail: (fault: string) => never): Json {
  if (typeof content === 'string')
    return storable(content) ? content : fail('the text has characters that cannot be stored (NUL or half of a surrogate pair).')
  if (typeof content === 'number')
    return Number.isFinite(content) ? content + 0 : fail('numbers must be finite; put quotes around it if it is text.')
  return typeof content === 'boolean' || content === null ? content : fail('use text, numbers, true, false or null only.')
}

/** PostgreSQL cannot store NUL, and JSON cannot represent unpaired surrogates. */
const storable = (text: string) => text.isWellFormed() && !text.includes('\0')

/**
 * Checks the tokens of a YAML text before parsing. Rejects anchors, aliases, directives and custom tags, and input that would take the parser a
 * second or overflow its stack: deep nesting of brackets or indicators, and too many tokens. Throws `PackageRejected`.
 */
function checkTokens(text: string, file: string): void {
  const seen: Seen = { tokens: 0, brackets: 0, indicators: 0 }
  let plain = false
  for (const token of new Lexer().lex(text)) {
    const type = plain ? 'scalar' : CST.tokenType(token)
    plain = token === CST.SCALAR && !plain
    const foreign =
      (type !== null && !versionDirective.test(token) && notPlain[type]) || (type === 'tag' && !coreTags.has(token) && 'a tag')
    if (foreign) rejectArchive(`${file} has ${foreign} (${token}). Write plain YAML, without anchors, aliases, tags or directives.`)
    count(seen, type)
    if (seen.tokens > maxTokens) rejectArchive(`${file} has too many fields. Shorten it.`)
    if (seen.brackets > maxDepth || seen.indicators > maxDepth) rejectArchive(`${file} is nested more than ${maxDepth} deep. Flatten it.`)
  }
}

type Seen = { tokens: number; brackets: number; indicators: number }

/** YAML 1.1 is read as 1.2, as Dart does. */
const versionDirective = /^%YAML[ \t]+1\.[12][ \t]*(#.*)?$/

/** A pubspec of 128 KiB with one asset per line has 30,000 tokens. */
const maxTokens = 40_000
const coreTags = new Set(['!!str', '!!int', '!!float', '!!bool', '!!null', '!!map', '!!seq'])
const notPlain: Partial<Record<CST.TokenType, string>> = { anchor: 'an anchor', alias: 'an alias', 'directive-line': 'a directive' }

function count(seen: Seen, type: CST.TokenType | null) {
  seen.tokens += 1
  if (type === 'flow-map-start' || type === 'flow-seq-start') seen.brackets += 1
  if (type === 'flow-map-end' || type === 'flow-seq-end') seen.brackets -= 1
  if (type === 'seq-item-ind' || type === 'explicit-key-ind') seen.indicators += 1
  if (type === 'newline') seen.indicators = 0
}
