import { endOfBracket, endOfTypeArguments, plainTokenAt } from './tokens.ts'

/** Returns a short placeholder of the same type as the expression from `from` to `end` if its type is evident, else `0`. */
export function placeholderFor(text: string, from: number, end: number): string {
  const first = plainTokenAt(text, from)
  const isConst = text.slice(first.start, first.end) === 'const'
  const { kind, start, end: next } = isConst ? plainTokenAt(text, first.end) : first
  const word = text.slice(start, Math.min(next, start + 200))
  if (kind === 'string') return isStrings(text, next, end) ? "''" : '0'
  if (isLast(text, next, end)) {
    if (kind === 'number') return /^\d[\d_]*$|^0x/i.test(word) ? '1' : '1.5'
    return word === 'true' || word === 'false' ? 'true' : '0'
  }
  if (word === '<') return collectionAt(text, start, end)
  return kind === 'word' && /^_*[A-Z]/.test(word) ? objectAt(text, word, next, end, isConst) : '0'
}

const isLast = (text: string, at: number, end: number): boolean => plainTokenAt(text, at).start >= end

/** Whether the range from `from` to `end` contains only string literals, which Dart concatenates. */
function isStrings(text: string, from: number, end: number): boolean {
  let token = plainTokenAt(text, from)
  while (token.kind === 'string' && token.start < end) token = plainTokenAt(text, token.end)
  return token.start >= end
}

/** Returns the placeholder for a collection literal such as `<A>[…]`, `<A>{…}` or `<A, B>{…}`. */
function collectionAt(text: string, start: number, end: number): string {
  const inner = endOfTypeArguments(text, start) ?? end
  const bracket = plainTokenAt(text, inner).start
  const opening = text.charAt(bracket)
  const close = opening === '[' || opening === '{' ? endOfBracket(text, bracket) : null
  return close === null || !isLast(text, close, end) ? '0' : `${text.slice(start, inner)}${opening === '[' ? '[]' : '{}'}`
}

/** Returns the placeholder for `A(…)`, `A<B>(…)` or `const A.named(…)`. Without `const`, `A.named(…)` may be any call. */
function objectAt(text: string, name: string, next: number, end: number, isConst: boolean): string {
  let at = next
  const types = text.charAt(at) === '<' ? (endOfTypeArguments(text, at) ?? at) : at
  const type = name + text.slice(at, types)
  at = types
  if (isConst && text.charAt(at) === '.') at = plainTokenAt(text, at + 1).end
  const close = text.charAt(at) === '(' ? endOfBracket(text, at) : null
  return close === null || !isLast(text, close, end) ? '0' : `${type}()`
}

/** Returns the type of a placeholder, or null if the type is not evident. */
export function typeOfPlaceholder(value: string): string | null {
  const simple = simpleTypes.get(value)
  if (simple !== undefined) return simple
  if (value.endsWith('()')) return value.slice(0, -2)
  if (value.endsWith('[]')) return `List${value.slice(0, -2)}`
  return value.endsWith('{}') ? `${/^<[^<>]*(?:<[^<>]*>[^<>]*)*,/.test(value) ? 'Map' : 'Set'}${value.slice(0, -2)}` : null
}

const simpleTypes = new Map([
  ["''", 'String'],
  ['1', 'int'],
  ['1.5', 'double'],
  ['true', 'bool'],
])
