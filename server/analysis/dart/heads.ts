import { type containerKinds, type Declaration, relations } from './api.ts'
import { endOfBracket, endOfTypeArguments, isContainer, plainTokenAt } from './syntax/tokens.ts'
import { tidy } from './signature.ts'

export type Head = Pick<Declaration, 'name' | 'signature' | 'supertypes'> & {
  kind: (typeof containerKinds)[number]
  /** The part after the name of an extension type, such as `.named(int value)`. */
  primary: string | null
}

type Word = { text: string; start: number; end: number }

/** Parses the header of a class, mixin, extension, extension type or enum. Returns null for other code. */
export function readHead(code: string): Head | null {
  if (!isContainer(leadingWords(code))) return null
  const signature = tidy(code, ignoredWords)
  const words = wordsOf(signature)
  const at = words.findIndex(({ text }, index) => keywords.has(text) && words[index + 1]?.text !== 'class')
  if (at === -1) return null
  const kind = kindOf(words, at)
  const from = kind === 'extension type' ? at + (words[at + 2]?.text === 'const' ? 3 : 2) : at + 1
  const isNamed =
    kind !== 'extension' || !(words[from]?.text.startsWith('<') === true || (words[from]?.text === 'on' && words[from + 1]?.text !== 'on'))
  const name = isNamed ? (words[from]?.text ?? '') : ''
  const rest = words.slice(isNamed ? from + 1 : from)
  const primary = kind === 'extension type' ? primaryOf(signature, rest) : null
  return { kind, name, signature, supertypes: [...represented(primary), ...supertypesOf(signature, rest)], primary }
}

const ignoredWords = new Set(['augment', 'macro', 'external'])
const keywords = new Set(['class', 'mixin', 'extension', 'enum'])

function leadingWords(code: string): string[] {
  const words: string[] = []
  for (let at = 0; words.length < 8;) {
    const { kind, start, end } = plainTokenAt(code, at)
    if (kind !== 'word') break
    const word = code.slice(start, end)
    if (!ignoredWords.has(word)) words.push(word)
    at = end
  }
  return words
}

/** Splits a signature into words, punctuation, and brackets with their contents. */
function wordsOf(signature: string): Word[] {
  const words: Word[] = []
  for (let at = 0; words.length < 10_000;) {
    const { kind, start, end } = plainTokenAt(signature, at)
    if (kind === 'end') break
    const char = signature.charAt(start)
    at = end
    if (char === '(' || char === '{' || char === '[') at = endOfBracket(signature, start) ?? signature.length
    if (char === '<') at = endOfTypeArguments(signature, start) ?? end
    words.push({ text: signature.slice(start, at), start, end: at })
  }
  return words
}

function kindOf(words: readonly Word[], at: number): Head['kind'] {
  const [keyword, next, second] = words.slice(at, at + 3).map(({ text }) => text)
  if (keyword === 'extension')
    return next === 'type' && second !== 'on' && second?.startsWith('<') !== true ? 'extension type' : 'extension'
  return keyword === 'mixin' || keyword === 'enum' ? keyword : 'class'
}

function primaryOf(signature: string, rest: readonly Word[]): string | null {
  const bracket = rest.find(({ text }) => text.startsWith('('))
  const first = rest[rest[0]?.text.startsWith('<') === true ? 1 : 0]
  return bracket === undefined || first === undefined ? null : signature.slice(first.start, bracket.end)
}

function represented(primary: string | null): Declaration['supertypes'] {
  const type = /\(\s*(?:(?:final|var|covariant)\s+)?(.+?)\s+[\w$]+\s*\)$/s.exec(primary ?? '')?.[1]
  return type === undefined ? [] : [{ relation: 'represents', type }]
}

function supertypesOf(signature: string, rest: readonly Word[]): Declaration['supertypes'] {
  const found: Declaration['supertypes'] = []
  let relation: (typeof relations)[number] | undefined
  let type: Word[] = []
  const take = () => {
    const [first, last] = [type[0], type.at(-1)]
    if (relation !== undefined && first !== undefined && last !== undefined)
      found.push({ relation, type: signature.slice(first.start, last.end) })
    type = []
  }
  for (const word of rest) {
    const next = word.text === '=' ? 'extends' : relations.find((each) => each !== 'represents' && each === word.text)
    if (next === undefined && word.text !== ',' && word.text !== ';') type.push(word)
    else {
      take()
      relation = next ?? relation
    }
  }
  take()
  return found
}
