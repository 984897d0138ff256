import { endOfBracket } from './syntax/nesting.ts'
import { plainTokenAt } from './syntax/tokens.ts'

export type Parameter = { name: string; type: string; isNamed: boolean; isRequired: boolean; default: string | null }

/** The parts of the signature of something that is called. A type is empty where none is written. */
export type Callable = { modifiers: string[]; returns: string; typeParameters: string[]; parameters: Parameter[] }

/** Takes apart the signature of a function, method, operator or constructor; null when it has no parameters. */
export function callableOf(signature: string): Callable | null {
  const open = lastBracket(signature)
  if (open === null) return null
  const [, before = '', typeParameters = ''] =
    /^(.*?(?:\boperator \S+|[\w$.]+))\s*(<.*>)?$/s.exec(beforeName(signature.slice(0, open))) ?? []
  const [modifiers, returns] = withoutModifiers(before.replace(/(?:\boperator \S+|[\w$.]+)$/, '').trim())
  return {
    modifiers,
    returns,
    typeParameters: splitTypeParameters(typeParameters),
    parameters: parametersIn(signature.slice(open + 1, -1)),
  }
}

/** Splits at commas outside every bracket. */
export function splitAtCommas(text: string): string[] {
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

/** Parts of `<A, B extends C>`. */
export const splitTypeParameters = (written: string): string[] => (written === '' ? [] : splitAtCommas(written.slice(1, -1)))

/** Where the bracket opens that ends a signature. */
function lastBracket(signature: string): number | null {
  for (let at = 0; at < signature.length;) {
    const { start, end } = plainTokenAt(signature, at)
    const isOpen = signature.charAt(start) === '('
    at = isOpen ? (endOfBracket(signature, start) ?? signature.length) : Math.max(end, at + 1)
    if (isOpen && at === signature.length && signature.endsWith(')')) return start
  }
  return null
}

const beforeName = (text: string): string => text.trimEnd()

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

function parameterOf(part: string, isNamed: boolean, isRequired: boolean): Parameter {
  const [, declared = part, value = null] = /^(.*?)\s*(?:=|(?<=[\w$]):)\s*(.*)$/s.exec(part) ?? []
  const [, rest] = withoutModifiers(declared)
  const [, type = '', name = rest, parameters = ''] = /^(.*?)((?:this\.|super\.)?[\w$]+)(\s*(?:<[^()]*>)?\(.*\)\??)?$/s.exec(rest) ?? []
  const written = parameters === '' ? type.trim() : `${type.trim()} Function${parameters}`.trim()
  return { name: name.replace(/^(?:this|super)\./, ''), type: written, isNamed, isRequired, default: value }
}
