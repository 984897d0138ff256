import { type containerKinds, type Declaration, type Member, relations } from './api.ts'
import { publicName, tidy } from './signature.ts'
import type { Shape, Variable } from './syntax/shapes.ts'
import { endOfBracket, endOfTypeArguments, isContainer, plainTokenAt } from './syntax/tokens.ts'

/** Documentation and location of a declaration. */
export type Around = Pick<Member, 'doc' | 'deprecated' | 'source'>
export type MemberAround = Around & Pick<Member, 'isOverride' | 'superConstructor'>

/** Returns the top-level declarations in a parsed piece of code. A variable declaration may declare several. */
export function declarationsOf(shape: Shape, around: Around): Declaration[] {
  const empty = { supertypes: [], members: [] }
  if (shape.kind === 'variables') {
    const prefix = tidy(shape.prefix, ignoredModifiers)
    const kind = /^const\b/.test(prefix) ? 'constant' : 'variable'
    return shape.variables.map((each) => ({ ...around, kind, name: each.name, signature: variableLine(prefix, each), ...empty }))
  }
  const { kind, name } = shape
  return kind === 'operator' || kind === 'constructor'
    ? []
    : [{ ...around, kind, name, signature: tidy(shape.signature, ignoredModifiers), ...empty }]
}

/** Formats a variable such as `final int x`. Adds the type of the value if no type is written. */
function variableLine(prefix: string, { name, valueType }: Variable): string {
  const isTyped = valueType === null || !/^(?:static )?(?:var|final|const)$/.test(prefix)
  return isTyped ? `${prefix} ${name}` : `${prefix.replace(/\bvar$/, '')} ${tidy(valueType)} ${name}`.replaceAll('  ', ' ').trimStart()
}

/** Returns the members in a parsed piece of code. */
export function membersOf(shape: Shape, className: string, around: MemberAround): Member[] {
  const code = shape.kind === 'variables' ? shape.prefix : shape.signature
  const line = tidy(code, ignoredModifiers)
  const isStatic = /^static\b/.test(line)
  if (shape.kind === 'variables') {
    const kind = /^(?:static )?const\b/.test(line) ? 'constant' : 'field'
    return shape.variables.map((variable) => ({ ...around, kind, name: variable.name, signature: variableLine(line, variable), isStatic }))
  }
  return [{ ...around, kind: memberKind(shape, line, className), name: shape.name, signature: line, isStatic }]
}

/** Whether a name is public: no part of it begins with an underscore. */
export const isPublicName = (name: string): boolean => name !== '' && !name.split('.').some((part) => part.startsWith('_'))

/** Adds the field type to constructor parameters such as `this.x`. */
export function withFieldTypes(members: readonly Member[], all: readonly Member[]): Member[] {
  const types = new Map(all.filter(({ kind }) => kind === 'field').map(({ name, signature }) => [name, typeOf(signature, name)]))
  return members.map((member) => (member.kind === 'constructor' ? { ...member, signature: typed(member.signature, types) } : member))
}

const typeOf = (signature: string, name: string): string => signature.slice(0, -name.length).replace(modifiers, '').trim()
const modifiers = /^(?:(?:static|final|const|var|late|covariant)\s+)*/

const typed = (signature: string, types: ReadonlyMap<string, string>): string =>
  signature
    .replace(/(?<=[({[]|, |required |final )this\.([\w$]+)(?![\w$<(])/g, (_, name: string, at: number) => {
      const [type = '', shown] = [types.get(name), isNamedAt(signature, at) ? publicName(name) : name]
      return type === '' ? `this.${shown}` : `${type} ${shown}`
    })
    .replace(/(?<!\b(?:required|final|const|covariant)) this\._(?=[A-Za-z$])/g, (written, at: number, whole: string) =>
      isNamedAt(whole, at) ? ' ' : written,
    )
    .replace(/(?<!\b(?:required|final|const|covariant)|,) (?:this|super)\.(?=[\w$])/g, ' ')

/** Whether an index in a constructor signature is inside the named parameters. */
export const isNamedAt = (signature: string, at: number): boolean => {
  const before = signature.slice(0, at)
  return before.split('{').length > before.split('}').length
}

/** Modifiers that are irrelevant to users of a declaration. */
const ignoredModifiers = new Set(['external', 'augment', 'late', 'abstract', 'covariant'])

/** The grammar cannot distinguish a constructor from a method without a return type; the name can. */
function memberKind({ kind, name }: Shape & { name: string }, line: string, className: string): Member['kind'] {
  if (kind !== 'function' && kind !== 'constructor') return kind === 'typedef' || kind === 'variables' ? 'method' : kind
  if (kind === 'function') return name === className && line.startsWith(name) ? 'constructor' : 'method'
  return name.split('.')[0] === className || /^(?:const|factory)\b/.test(line) ? 'constructor' : 'method'
}

export type Head = Pick<Declaration, 'name' | 'signature' | 'supertypes'> & {
  kind: (typeof containerKinds)[number]
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
  return { kind, name, signature, supertypes: [...represented(primary), ...supertypesOf(signature, rest)] }
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
