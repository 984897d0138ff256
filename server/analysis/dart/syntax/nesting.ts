/** Returns the end of the comment at `start`, or null if there is no comment. Block comments nest, as in Dart. */
export function endOfComment(text: string, start: number): number | null {
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
export function endOfString(text: string, start: number): number | null {
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
 * Advances until everything in `open` is closed. `open` is a stack of expected closing brackets and of the opening quotes of enclosing strings.
 * Returns null if the text ends first, or if a brace closes a block outside of the stack.
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
