/** Where the comment that begins at `start` ends; null when none does. Those with stars nest, as Dart has it. */
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

/** Where the string that begins at `start` ends; null when none does. One that is never closed ends with its line. */
export function endOfString(text: string, start: number): number | null {
  quoted.lastIndex = start
  const found = quoted.exec(text)
  return found === null ? null : (endOfNested(text, quoted.lastIndex, [found[0]]) ?? text.length)
}

/** Where the bracket is closed that opens at `start`; null when it is not. */
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

/** What matters in code: strings, comments and brackets. */
const inCode = /\br(?:'''|"""|'|")|'''|"""|['"/()[\]{}]/g
/** What matters in each kind of string. */
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
 * Walks on until everything in `open` is closed: closing brackets that are due, and opening quotes of strings around the position. Null when the
 * text ends before, or a brace closes something around all of that.
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

/** A brace closes what was left open within it; `open` has one. */
function closeBrace(open: string[]): void {
  while (open.pop() !== '}');
}
