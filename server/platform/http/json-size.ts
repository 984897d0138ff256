import { invalidInput } from '../../errors.ts'

/** Limits far above what any API request needs. */
const maxDepth = 64
export const maxBodyValues = 10_000

/**
 * Throws if JSON is nested too deeply or has too many values, counting each array or object too. Scans the text once, without recursion.
 * @throws ApiError InvalidInput.
 */
export function rejectLargeJson(text: string, maxValues = maxBodyValues): void {
  scanJson(text, maxValues)
}

/**
 * Scans JSON once and returns the first duplicate key of an object, or null. Syntax errors are left to the parser.
 * @throws ApiError InvalidInput for too many levels or values.
 */
export function scanJson(text: string, maxValues: number): string | null {
  const open: Set<string>[] = []
  let repeated: string | null = null
  let values = 1
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index)
    if (character === code.quote) {
      const end = endOfString(text, index)
      if (isKey(text, end)) {
        const key = readKey(text.slice(index, end + 1))
        if (open.at(-1)?.has(key)) repeated ??= key
        open.at(-1)?.add(key)
      }
      index = end
    } else if (character === code.openBrace || character === code.openBracket) {
      open.push(new Set())
      values++
    } else if (character === code.closeBrace || character === code.closeBracket) open.pop()
    else if (character === code.comma) values++
    if (open.length > maxDepth) throw invalidInput(`The JSON is nested deeper than ${maxDepth} levels.`)
    if (values > maxValues) throw invalidInput(`The JSON has more than ${maxValues} values.`)
  }
  return repeated
}

const code = {
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
}

/** Returns the index of the closing quotation mark of the string that starts at `start`: the first one after an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === code.backslash) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

/** Whether the string that ends at `end` is a key, that is, followed by a colon. */
function isKey(text: string, end: number): boolean {
  let next = end + 1
  while (text.charCodeAt(next) <= 0x20) next++
  return text.charCodeAt(next) === code.colon
}

/** Decodes a quoted key. Returns the text unchanged if it is not valid JSON. */
function readKey(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

/** Size of a JSON text or of a part of it. Values include arrays and objects. */
export type JsonSize = { bytes: number; values: number }

type Part = { start: number; values: number; depth: number }

/**
 * Counts the values of a JSON text without parsing it. Its parts are the arrays and objects in lists that are directly in the outer object, and objects
 * directly in it. Parts larger than `largest` are overwritten with null and not counted. Syntax errors are left to the parser.
 */
export function omitLargeParts(json: Buffer, largest: JsonSize): { values: number; parts: number; omitted: number } {
  let [depth, values, parts, omitted, isInList] = [0, 1, 0, 0, false]
  let part: Part | null = null
  for (let index = 0; index < json.length; index++) {
    const byte = json[index]
    if (byte === code.quote) index = endOfQuoted(json, index)
    else if (byte === code.comma) values++
    else if (byte === code.openBrace || byte === code.openBracket) {
      depth++
      if (part === null && (depth === 2 ? byte === code.openBrace : depth === 3 && isInList)) part = { start: index, values, depth }
      if (depth === 2) isInList = byte === code.openBracket
      values++
    } else if (byte === code.closeBrace || byte === code.closeBracket) {
      if (part?.depth === depth) {
        parts++
        if (index + 1 - part.start > largest.bytes || values - part.values > largest.values) {
          json.fill(code.space, part.start, index + 1).write('null', part.start)
          values = part.values
          omitted++
        }
        part = null
      }
      depth--
    }
  }
  return { values, parts, omitted }
}

/** Returns the index of the closing quotation mark, as `endOfString`. */
function endOfQuoted(json: Buffer, start: number): number {
  for (let end = json.indexOf(code.quote, start + 1); end >= 0; end = json.indexOf(code.quote, end + 1)) {
    let slashes = 0
    while (json[end - 1 - slashes] === code.backslash) slashes++
    if (slashes % 2 === 0) return end
  }
  return json.length
}
