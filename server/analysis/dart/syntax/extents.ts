import { endOfBracket } from './nesting.ts'
import { plainTokenAt } from './tokens.ts'

/**
 * Returns the end of the expression at `from`: the position of the following `;`, `}`, closing bracket or, if `stopsAtComma`, `,`. Returns null if a
 * bracket is not closed.
 */
export function endOfExpression(text: string, from: number, stopsAtComma: boolean): number | null {
  let at: number | null = from
  while (at !== null) {
    const { kind, start, end } = plainTokenAt(text, at)
    const char = text.charAt(start)
    if (kind === 'end') return start
    if (kind !== 'mark') at = end
    else if (char === ';' || char === '}' || char === ')' || char === ']' || (stopsAtComma && char === ',')) return start
    else if (char === '<') at = endOfTypeArguments(text, start) ?? end
    else at = opens.has(char) ? endOfBracket(text, start) : end
  }
  return null
}

/** Returns the end of the constructor initializers at `from`: the position of the following `;` or body. */
export function endOfInitializers(text: string, from: number): number | null {
  let at: number | null = from
  let previous = ':'
  let isSwitch = false
  while (at !== null) {
    const { kind, start, end } = plainTokenAt(text, at)
    const token = text.slice(start, Math.min(end, start + 8))
    if (kind === 'end' || token === ';' || token === '}') return start
    if (kind === 'mark' && token === '{' && !isSwitch && !beforeLiteral.test(previous)) return start
    isSwitch = kind === 'mark' && token === '(' && previous === 'switch'
    at = kind === 'mark' && opens.has(token) ? endOfBracket(text, start) : end
    previous = kind === 'mark' && opens.has(token) ? ')' : token
  }
  return null
}

const opens = new Set(['(', '[', '{'])
/** Matches tokens after which `{` opens a set or map literal. */
const beforeLiteral = /^(?:const|[=,?:&|<>+!~*/%^-]=?|=>|\?\?=?|\.{2,3}\??)$/

/** Returns the end of the type arguments at `start`, or null if the `<` does not open type arguments. */
export function endOfTypeArguments(text: string, start: number): number | null {
  let depth = 0
  angle.lastIndex = start
  for (let found = angle.exec(text); found !== null && found.index - start < 2000; found = angle.exec(text)) {
    if (found[0] === '<') depth += 1
    else if (found[0] === '>') depth -= 1
    else return null
    if (depth === 0) return angle.lastIndex
  }
  return null
}

/** Matches angle brackets, and characters that cannot occur in a type. */
const angle = /[<>]|[^<>\w$\s.,?(){}[\]@]/g

/** Whether a declaration that begins with these words has members. */
export function isContainer(words: readonly string[]): boolean {
  const at = words.findIndex((word, index) => !(modifiers.has(word) || (word === 'mixin' && words[index + 1] === 'class')))
  const [keyword = '', next] = words.slice(at)
  return keyword === 'extension' || (keywords.has(keyword) && next !== undefined)
}

const modifiers = new Set(['abstract', 'base', 'final', 'interface', 'sealed', 'macro', 'augment'])
const keywords = new Set(['class', 'mixin', 'enum'])
