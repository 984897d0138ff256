import { endOfBracket, endOfTypeArguments, plainTokenAt } from './syntax/tokens.ts'
import type { Declaration } from './api.ts'
import { leadAt } from './syntax/comments.ts'

export type Parameter = { name: string; type: string; isNamed: boolean; isRequired: boolean; default: string | null }

/** The parts of a callable's signature. A type is empty if none is written. */
export type Callable = { modifiers: string[]; returns: string; typeParameters: string[]; parameters: Parameter[] }

/** Parses the signature of a function, method, operator or constructor. Returns null if there is no parameter list. */
export function callableOf(signature: string): Callable | null {
  const open = lastBracket(signature)
  if (open === null) return null
  const before = signature.slice(0, open).trimEnd()
  const angle = isOperator(before) ? before.length : startOfTypeParameters(before)
  const [modifiers, returns] = withoutModifiers(beforeName(before.slice(0, angle)))
  return {
    modifiers,
    returns,
    typeParameters: splitTypeParameters(before.slice(angle)),
    parameters: parametersIn(signature.slice(open + 1, -1)),
  }
}

const isOperator = (before: string): boolean => /\boperator [^\w\s(]{1,3}$/.test(before.slice(-16))

/** Returns the index of the `<` whose `>` ends the text; the length of the text if it does not end with type parameters. */
function startOfTypeParameters(text: string): number {
  let depth = 0
  for (let at = text.length - 1; text.endsWith('>') && at >= 0; at--) {
    if (text[at] === '>') depth++
    else if (text[at] === '<' && --depth === 0) return at
  }
  return text.length
}

/** Returns the text before the name at the end. */
function beforeName(text: string): string {
  if (isOperator(text)) return text.slice(0, text.lastIndexOf('operator')).trim()
  let at = text.length
  while (at > 0 && /[\w$.]/.test(text.charAt(at - 1))) at--
  return text.slice(0, at).trim()
}

/** Splits a text at commas that are not inside brackets. */
function splitAtCommas(text: string): string[] {
  const parts: string[] = []
  let from = 0
  let angles = 0
  for (let at = 0; at < text.length;) {
    const { start, end } = plainTokenAt(text, at)
    const char = text.charAt(start)
    if (char === '<') angles++
    else if (char === '>' && angles > 0) angles--
    else if (char === ',' && angles === 0) {
      parts.push(text.slice(from, start).trim())
      from = end
    }
    at = '([{'.includes(char) && char !== '' ? (endOfBracket(text, start) ?? text.length) : Math.max(end, at + 1)
  }
  const last = text.slice(from).trim()
  return last === '' ? parts : [...parts, last]
}

/** Splits `<A, B extends C>` into its type parameters. */
const splitTypeParameters = (written: string): string[] => (written === '' ? [] : splitAtCommas(written.slice(1, -1)))

/** Returns the type parameters of a declaration as written, such as `T extends num`. */
export function typeParametersOf({ name, signature }: { name: string; signature: string }): string[] {
  const start = signature.search(new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}<`)) + name.length
  const end = signature[start] === '<' ? endOfTypeArguments(signature, start) : null
  return end === null ? [] : splitTypeParameters(signature.slice(start, end))
}

/** Returns the index of the parenthesis that opens the parameter list at the end of a signature. */
function lastBracket(signature: string): number | null {
  for (let at = 0; at < signature.length;) {
    const { start, end } = plainTokenAt(signature, at)
    const isOpen = signature.charAt(start) === '('
    at = isOpen ? (endOfBracket(signature, start) ?? signature.length) : Math.max(end, at + 1)
    if (isOpen && at === signature.length && signature.endsWith(')')) return start
  }
  return null
}

const modifierWords = new Set(['static', 'const', 'factory', 'final', 'var', 'covariant', 'required'])

function withoutModifiers(text: string): [modifiers: string[], rest: string] {
  const words = text.split(' ')
  const first = words.findIndex((word) => !modifierWords.has(word))
  const count = first === -1 ? words.length : first
  return [words.slice(0, count).filter((word) => word !== ''), words.slice(count).join(' ')]
}

function parametersIn(inside: string): Parameter[] {
  return splitAtCommas(inside).flatMap((part) => {
    const isNamed = part.startsWith('{')
    if (!isNamed && !part.startsWith('[')) return [parameterOf(part, false, true)]
    return splitAtCommas(part.slice(1, -1)).map((each) => parameterOf(each, isNamed, isNamed && /^required\b/.test(each)))
  })
}

/** Maximum length of parameters that are parsed, in characters. */
const maxParameterLength = 4000

function parameterOf(part: string, isNamed: boolean, isRequired: boolean): Parameter {
  if (part.length > maxParameterLength) return { name: '', type: part, isNamed, isRequired, default: null }
  const [, declared = part, value = null] = /^(.*?)\s*(?:=|(?<=[\w$]):)\s*(.*)$/s.exec(part) ?? []
  const [, rest] = withoutModifiers(declared)
  const [, type = '', name = rest, parameters = ''] = /^(.*?)((?:this\.|super\.)?[\w$]+)(\s*(?:<[^()]*>)?\(.*\)\??)?$/s.exec(rest) ?? []
  const written = parameters === '' ? type.trim() : `${type.trim()} Function${parameters}`.trim()
  const plain = name.replace(/^(?:this|super)\./, '')
  return { name: isNamed ? publicName(plain) : plain, type: written, isNamed, isRequired, default: value }
}

/** Returns the name that callers use for a named parameter. Since Dart 3.12, `this._size` is passed as `size`. */
export const publicName = (name: string): string => name.replace(/^_(?=[A-Za-z$])/, '')

/** Returns the name of a type without import prefix and type arguments. */
export const bareTypeName = (type: string): string => /(?:[\w$]+\.)?([\w$]+)/.exec(type)?.[1] ?? type

/** Maps the type parameters of a declaration to the type arguments of a written type. Omitted arguments are replaced by the bounds. */
export function argumentsOf(declaration: Pick<Declaration, 'name' | 'signature'>, written: string): Map<string, string> {
  const given = splitTypeParameters(/<.*>/s.exec(written)?.[0] ?? '')
  return new Map(
    typeParametersOf(declaration).map((parameter, at) => {
      const [name = '', bound = 'dynamic'] = parameter.split(' extends ')
      return [name, given[at] ?? bound]
    }),
  )
}

/** Replaces type parameters in code by type arguments. An argument that accepts null takes no second `?`. */
export const fillIn = (code: string, typeArguments: ReadonlyMap<string, string>): string =>
  typeArguments.size === 0
    ? code
    : code.replace(/(?<![\w$.])([\w$]+)(\?)?/g, (written, word: string, mark = '') => {
        const type = typeArguments.get(word)
        return type === undefined ? written : acceptsNull.test(type) ? type : type + mark
      })

const acceptsNull = /\?$|^(?:dynamic|void|Null)$/

/** Formats code on one line, without comments, annotations, trailing commas, and leading words that are in `without`. */
export function tidy(code: string, without: ReadonlySet<string> = new Set()): string {
  let line = ''
  let last = ''
  let leads = true
  for (let at = leadAt(code, 0).end; at < code.length;) {
    const { kind, start, end } = plainTokenAt(code, at)
    if (kind === 'end') break
    const token = code.slice(start, end)
    leads &&= kind === 'word'
    if (token === '@') at = leadAt(code, start).end
    else {
      at = end
      if (leads && without.has(token)) continue
      // `final` and `var` before a parameter have no meaning for callers.
      if ((token === 'final' || token === 'var') && beforeParameter.test(last)) continue
      if (last === ',' && closes.test(token)) line = line.slice(0, -1)
      line += gap(last, token, start > 0 && /\s/.test(code.charAt(start - 1))) + token
      last = token
    }
  }
  return line.replace(/;$/, '').replace(operatorName, (name) => name.replace(/ /g, '').replace('operator', 'operator '))
}

const operatorName = /(?<![\w$])operator (?:[[\]=<>+\-*/%~&|^] ?)+(?=\()/
const beforeParameter = /^(?:[({[,]|required|covariant)$/
const closes = /^[)\]}>]$/

function gap(last: string, next: string, wasBlank: boolean): string {
  if (next === '.' && spaced.has(last)) return ' '
  if (last === '' || opens.has(last) || sticksToLeft.has(next)) return ''
  if (last === ',' || spaced.has(last) || spaced.has(next)) return ' '
  return wasBlank ? ' ' : ''
}

const opens = new Set(['(', '[', '{', '<', '.', '@', '?.'])
const sticksToLeft = new Set([')', ']', '}', '>', ',', ';', '.', '?', '?.', ':'])
const spaced = new Set(['=', '=>', ':'])
