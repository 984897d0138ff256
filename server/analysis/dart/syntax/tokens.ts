type Token = { kind: 'word' | 'string' | 'number' | 'mark' | 'comment' | 'end'; start: number; end: number }

/** Returns the token at or after `from`, including comments. Returns a token of kind `end` at the end of the text. */
export function tokenAt(text: string, from: number): Token {
  blank.lastIndex = from
  blank.test(text)
  const start = blank.lastIndex
  if (start >= text.length) return { kind: 'end', start: text.length, end: text.length }
  const string = endOfString(text, start)
  if (string !== null) return { kind: 'string', start, end: string }
  const comment = endOfComment(text, start)
  if (comment !== null) return { kind: 'comment', start, end: comment }
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = start
    if (pattern.test(text)) return { kind, start, end: pattern.lastIndex }
  }
  return { kind: 'mark', start, end: start + 1 }
}

/** Like `tokenAt`, but skips comments. */
export function plainTokenAt(text: string, from: number): Token {
  let token = tokenAt(text, from)
  while (token.kind === 'comment') token = tokenAt(text, token.end)
  return token
}

const blank = /[\s\u{feff}]*/uy
const word = /[\p{L}_$][\p{L}\p{N}_$]*/uy
const number = /\d[\d_a-zA-Z]*(?:\.\d[\d_]*(?:[eE][+-]?\d+)?)?/y
/** Multi-character tokens that contain `=` or `>` with another meaning than the single character. */
const mark = /=>|[=!<>]=|\?\?=|\.{2,3}\??|\?\.|[+\-*/%&|^~]=|./suy

const patterns = [
  ['word', word],
  ['number', number],
  ['mark', mark],
] as const

/** Returns the end of the comment at `start`, or null if there is no comment. Block comments nest, as in Dart. */
function endOfComment(text: string, start: number): number | null {
  if (text.startsWith('//', start)) {
    const end = text.indexOf('\n', start)
    return end === -1 ? text.length : end
  }
  if (!text.startsWith('/*', start)) return null
  let depth = 0
  starred.lastIndex = start
  for (let found = starred.exec(text); found !== null; found = starred.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return starred.lastIndex
  }
  return text.length
}

/** Returns the end of the string at `start`, or null if there is no string. An unterminated single-line string ends with its line. */
function endOfString(text: string, start: number): number | null {
  quoted.lastIndex = start
  const found = quoted.exec(text)
  return found === null ? null : (endOfNested(text, quoted.lastIndex, [found[0]]) ?? text.length)
}

/** Returns the end of the bracket that opens at `start`, or null if it is not closed. */
export function endOfBracket(text: string, start: number): number | null {
  const closing = closings.get(text.charAt(start))
  return closing === undefined ? start + 1 : endOfNested(text, start + 1, [closing])
}

const starred = /\/\*|\*\//g
const quoted = /r?(?:'''|"""|'|")/y
const closings = new Map([
  ['(', ')'],
  ['[', ']'],
  ['{', '}'],
])

/** Matches the tokens that are relevant for nesting in code: strings, comments and brackets. */
const inCode = /\br(?:'''|"""|'|")|'''|"""|['"/()[\]{}]/g
/** Matches the tokens that are relevant for nesting in each kind of string. */
const inString = new Map(
  ["'", '"', "'''", '"""'].flatMap((quote) => {
    const end = quote.length === 1 ? `${quote}|\\n` : quote
    return [
      [quote, new RegExp(`\\\\|\\$\\{|${end}`, 'g')],
      [`r${quote}`, new RegExp(end, 'g')],
    ]
  }),
)

/**
 * Returns the end of everything in `open`, a stack of closing brackets and opening quotes; null if the text ends first or a brace closes an outer
 * block.
 */
function endOfNested(text: string, from: number, open: string[]): number | null {
  let at = from
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    const string = inString.get(inner)
    const pattern = string ?? inCode
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found === null || (string === undefined && found[0] === '}' && !open.includes('}'))) return null
    at = string === undefined ? passCode(text, found, open) : passString(found, open)
  }
  return at
}

function passString({ 0: met, index }: RegExpExecArray, open: string[]): number {
  if (met === '\\') return index + 2
  if (met === '${') open.push('}')
  else open.pop()
  return index + met.length
}

function passCode(text: string, { 0: met, index }: RegExpExecArray, open: string[]): number {
  const after = index + met.length
  if (met === '/') return endOfComment(text, index) ?? after
  const closing = closings.get(met)
  if (closing !== undefined) open.push(closing)
  else if (inString.has(met)) open.push(met)
  else if (met === '}') closeBrace(open)
  else if (open.at(-1) === met) open.pop()
  return after
}

/** Closes everything up to the innermost brace in `open`, which must contain one. */
function closeBrace(open: string[]): void {
  while (open.pop() !== '}');
}

/** Returns the position of the `;`, closing bracket or, if `stopsAtComma`, `,` after an expression; null if a bracket is not closed. */
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
