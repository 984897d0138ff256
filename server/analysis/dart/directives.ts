import { posix } from 'node:path'
import type { LibraryImport } from './api.ts'
import { plainTokenAt } from './syntax/tokens.ts'
import { contentOf } from './syntax/comments.ts'

/** An import or export directive with its `show` and `hide` combinators. */
export type Directive = LibraryImport & { combinators: { shows: boolean; names: Set<string> }[] }

/** The directives at the beginning of a file. */
export type Directives = {
  /** Name in the `library` directive; empty if it has no name. */
  library: string | null
  /** The library that the file is part of, by URI or by name. */
  partOf: { uri: string } | { library: string } | null
  parts: string[]
  imports: Directive[]
}

type Word = { text: string; isString: boolean }

/** Parses a directive and adds it to `into`. Returns false if the code is not a directive. */
export function parseDirective(code: string, into: Directives): boolean {
  const words = wordsOf(code)
  const [first, second] = words
  if (first === undefined || first.isString) return false
  const keyword = first.text
  if (keyword === 'library' && (second === undefined || !second.isString)) into.library = dotted(words.slice(1))
  else if (keyword === 'part' && second?.isString === true) into.parts.push(second.text)
  else if (keyword === 'part' && second?.text === 'of') into.partOf = partOf(words.slice(2))
  else if ((keyword === 'import' || keyword === 'export') && words.some(({ isString }) => isString))
    into.imports.push(importOf(keyword, words.slice(1)))
  else return false
  return true
}

/** Splits code into words, strings and punctuation up to the `;`. Adjacent strings are joined. */
function wordsOf(code: string): Word[] {
  const words: Word[] = []
  let at = 0
  while (words.length < 10_000) {
    const { kind, start, end } = plainTokenAt(code, at)
    if (kind === 'end' || code[start] === ';') break
    const isString = kind === 'string'
    const text = isString ? contentOf(code.slice(start, end)) : code.slice(start, end)
    const last = words.at(-1)
    if (isString && last?.isString === true) last.text += text
    else words.push({ text, isString })
    at = end
  }
  return words
}

const dotted = (words: readonly Word[]): string => words.map(({ text }) => text).join('')

const partOf = (words: readonly Word[]): Directives['partOf'] =>
  words[0]?.isString === true ? { uri: words[0].text } : { library: dotted(words) }

function importOf(kind: 'import' | 'export', words: readonly Word[]): Directive {
  const at = words.findIndex(({ isString }) => isString)
  const directive: Directive = { kind, uri: words[at]?.text ?? '', conditions: [], combinators: [] }
  let names: Set<string> | null = null
  for (let index = at + 1; index < words.length; index++) {
    const { text = '', isString = false } = words[index] ?? {}
    if (text === 'if' && !isString) {
      const end = words.findIndex((word, place) => place > index && word.text === ')')
      if (end === -1) break
      const condition = words.slice(index + 2, end).map((word) => (word.isString ? `'${word.text}'` : word.text))
      directive.conditions.push({ condition: condition.join('').replace('==', ' == '), uri: words[end + 1]?.text ?? '' })
      index = end + 1
    } else if (text === 'show' || text === 'hide') {
      names = new Set()
      directive.combinators.push({ shows: text === 'show', names })
    } else if (text !== ',') names?.add(text)
  }
  return directive
}

/** Resolves a URI in the file `from` to a file of this package. Returns null for other packages and `dart:` libraries. */
export function resolveUri(uri: string, from: string, packageName: string | null): string | null {
  const own = /^package:([^/]+)\/(.+)$/.exec(uri)
  if (own !== null) return own[1] === packageName ? posix.normalize(`lib/${own[2]}`) : null
  if (/^[a-z][a-z0-9+.-]*:/i.test(uri) || uri.startsWith('/')) return null
  const path = posix.normalize(posix.join(posix.dirname(from), decoded(uri)))
  return path.startsWith('lib/') ? path : null
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri)
  } catch {
    return uri
  }
}
