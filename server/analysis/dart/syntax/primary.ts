import { tidy } from '../signature.ts'
import { leadAt, type Span } from './comments.ts'
import { placeholderFor, typeOfPlaceholder } from './shapes.ts'
import type { Chunk } from './skim.ts'
import { endOfBracket, endOfTypeArguments, plainTokenAt } from './tokens.ts'

// The primary constructors and abbreviated constructors of Dart 3.13 have the same meaning as longer code, which the grammar knows. Source: the feature
// specification, dart-lang/language, accepted/3.13/primary-constructors.

/** The constructor in the header of a class, enum or extension type. */
export type Primary = {
  isExtensionType: boolean
  /** The `const` before the name of the type; empty without it. */
  modifier: Span
  type: string
  /** Name of the constructor, without that of the type; empty for the unnamed constructor. */
  name: string
  /** The range of `.name(parameters)`. */
  own: Span
  /** The range between the parentheses. */
  parameters: Span
}

/** Finds the primary constructor in the header of a declaration. */
export function findPrimary(text: string, from: number): Primary | null {
  const word = (at: number) => {
    const { kind, start, end } = plainTokenAt(text, at)
    return { text: kind === 'end' ? '' : text.slice(start, end), start, end }
  }
  let keyword = word(from)
  while (modifiers.has(keyword.text)) keyword = word(keyword.end)
  const isExtensionType = keyword.text === 'extension' && word(keyword.end).text === 'type'
  if (!isExtensionType && keyword.text !== 'class' && keyword.text !== 'enum') return null
  const second = word(isExtensionType ? word(keyword.end).end : keyword.end)
  const type = second.text === 'const' ? word(second.end) : second
  const modifier = second.text === 'const' ? { start: second.start, end: type.start } : { start: type.start, end: type.start }
  const generics = word(type.end)
  const start = generics.text === '<' ? (endOfTypeArguments(text, generics.start) ?? type.end) : type.end
  const name = word(start).text === '.' ? word(word(start).end) : null
  const open = word(name?.end ?? start)
  const end = open.text === '(' ? endOfBracket(text, open.start) : null
  if (end === null) return null
  const parameters = { start: open.end, end: end - 1 }
  return { isExtensionType, modifier, type: type.text, name: name?.text.replace(/^new$/, '') ?? '', own: { start, end }, parameters }
}

const modifiers = new Set(['abstract', 'base', 'final', 'interface', 'sealed', 'mixin', 'augment'])

/** Returns the header up to `end` without its primary constructor. */
export const withoutPrimary = (text: string, from: number, end: number, { modifier, own }: Primary): string =>
  text.slice(from, modifier.start) + text.slice(modifier.end, own.start) + text.slice(own.end, end)

/** Whether the code of a member is the part of a primary constructor that has its initializers and body. */
export const isPrimaryBody = (code: string): boolean => /^this\b(?!\s*\.)/.test(code)

/** Code of a member that a primary constructor declares, and the range of the source that it stands for. */
type Implied = { code: string; chunk: Chunk }

/** Returns the constructor and the fields that a primary constructor declares. `hasSupertypes`: fields may inherit their types. */
export function membersOfPrimary(text: string, primary: Primary, isConst: boolean, hasSupertypes: boolean): Implied[] {
  const fields: Implied[] = []
  let code = ''
  let at = primary.parameters.start
  for (const span of parametersIn(text, primary.parameters)) {
    const parameter = readParameter(text, span, primary.isExtensionType)
    code += text.slice(at, span.start) + (parameter?.code ?? text.slice(span.start, span.end))
    at = span.end
    if (parameter !== null) fields.push({ code: fieldCode(parameter, hasSupertypes), chunk: parameter.chunk })
  }
  const name = primary.name === '' ? primary.type : `${primary.type}.${primary.name}`
  const constructor = `${isConst ? 'const ' : ''}${name}(${code}${text.slice(at, primary.parameters.end)});`
  return [{ code: constructor, chunk: chunkAt(primary.own.start) }, ...fields]
}

const chunkAt = (start: number, around: Partial<Chunk> = {}): Chunk => ({
  start,
  end: start,
  docs: [],
  annotations: [],
  body: null,
  initializers: null,
  isEnumValue: false,
  ...around,
})

/** Returns the ranges of the parameters, without the brackets around optional ones. */
function parametersIn(text: string, { start: from, end: to }: Span): Span[] {
  const found: Span[] = []
  let [start, at, isEmpty] = [from, from, true]
  while (at < to) {
    const token = plainTokenAt(text, at)
    if (token.start >= to) break
    const char = token.kind === 'mark' ? text.slice(token.start, token.end) : ''
    const isSeparator = char === ',' || char === ']' || char === '}' || (isEmpty && (char === '[' || char === '{'))
    if (isSeparator && !isEmpty) found.push({ start, end: token.start })
    if (isSeparator) start = token.end
    isEmpty = isSeparator
    at = isSeparator ? token.end : endOfGroup(text, token)
  }
  return isEmpty ? found : [...found, { start, end: to }]
}

function endOfGroup(text: string, { kind, start, end }: ReturnType<typeof plainTokenAt>): number {
  const char = kind === 'mark' ? text.charAt(start) : ''
  if (char === '<') return endOfTypeArguments(text, start) ?? end
  return char === '(' || char === '[' || char === '{' ? (endOfBracket(text, start) ?? end) : end
}

/** A parameter that declares a field. `code` is that of an initializing formal parameter. */
type Declaring = { code: string; isFinal: boolean; type: string; name: string; value: string | null; chunk: Chunk }

/** Reads a parameter. Returns null if it declares no field. */
function readParameter(text: string, { start, end }: Span, isExtensionType: boolean): Declaring | null {
  const { end: from, docs, annotations } = leadAt(text, start)
  const words = new Set<string>()
  let at = from
  for (let token = plainTokenAt(text, at); leading.has(text.slice(token.start, token.end)); token = plainTokenAt(text, at)) {
    words.add(text.slice(token.start, token.end))
    at = token.end
  }
  if (!isExtensionType && !words.has('final') && !words.has('var')) return null
  const equals = endOfDeclared(text, at, end)
  const value = equals < end ? tidy(text.slice(equals + 1, end)) : null
  const [, before = '', name = '', rest = ''] = declared.exec(tidy(text.slice(at, equals))) ?? []
  const type = rest === '' ? before.trim() : `${before.trim()} Function${rest}`.trim()
  const code = `${words.has('required') ? 'required ' : ''}this.${name}${value === null ? '' : ` = ${value}`}`
  return { code, isFinal: !words.has('var'), type, name, value, chunk: chunkAt(from, { docs, annotations }) }
}

const leading = new Set(['required', 'covariant', 'final', 'var'])
/** Matches a type, a name, and the parameters of a parameter that is written like a function. */
const declared = /^(.*?)([\w$]+)(\s*(?:<[^()]*>)?\(.*\)\??)?$/s

/** Returns the position of the `=` before the default value, or the end of the parameter. */
function endOfDeclared(text: string, from: number, end: number): number {
  for (let at = from; at < end;) {
    const token = plainTokenAt(text, at)
    if (token.kind === 'mark' && text.slice(token.start, token.end) === '=') return token.start
    at = endOfGroup(text, token)
  }
  return end
}

/** Without a type, a field has that of its default value, or the type that it inherits, or `Object?`. */
function fieldCode({ isFinal, type, name, value }: Declaring, hasSupertypes: boolean): string {
  const evident = value === null || value === 'null' ? null : typeOfPlaceholder(placeholderFor(value, 0, value.length))
  const inferred = evident ?? (hasSupertypes || (value !== null && value !== 'null') ? '' : 'Object?')
  const written = type || inferred
  return `${isFinal ? 'final ' : written === '' ? 'var ' : ''}${written} ${name};`
}

/** Returns the code of a member with the name of the class in place of `new`, and after `factory` where it is left out. */
export function expandConstructor(code: string, className: string): string {
  let token = plainTokenAt(code, 0)
  const word = () => code.slice(token.start, token.end)
  while (constructorModifiers.has(word())) token = plainTokenAt(code, token.end)
  const keyword = word()
  if (keyword !== 'new' && keyword !== 'factory') return code
  const start = keyword === 'new' ? token.start : token.end
  token = plainTokenAt(code, token.end)
  if (word() === '(') return `${code.slice(0, start)} ${className}${code.slice(token.start)}`
  const name = word()
  const next = plainTokenAt(code, token.end)
  const isShort = token.kind === 'word' && name !== className && code.charAt(next.start) === '('
  return isShort ? `${code.slice(0, start)} ${className}.${name}${code.slice(token.end)}` : code
}

const constructorModifiers = new Set(['external', 'augment', 'const'])
