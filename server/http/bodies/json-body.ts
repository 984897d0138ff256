import type { FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { encodedBody, invalidInput, unsupportedMediaType } from '../../errors.ts'
import { nextSlice } from '../../threads/slices.ts'

/** Far more than anything that the API takes. */
const maxDepth = 64
const maxBodyValues = 10_000

/**
 * Refuses JSON that is nested too deep or has too many values, before anything walks through it. One pass, without recursion. A list or an
 * object counts as one value more than it holds.
 * @throws ApiError InvalidInput.
 */
export function refuseLargeJson(text: string, maxValues = maxBodyValues): void {
  scanJson(text, maxValues)
}

/**
 * Reads the structure of JSON once and returns the first key that an object has twice, or null. What is not valid JSON is left to the parser.
 * @throws ApiError InvalidInput for too many levels or values.
 */
function scanJson(text: string, maxValues: number): string | null {
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
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
}

/** Where the string that begins at `start` ends: at the next quotation mark after an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === code.backslash) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

/** Whether the string that ends here is a key: a colon follows. */
function isKey(text: string, end: number): boolean {
  let next = end + 1
  while (text.charCodeAt(next) <= 0x20) next++
  return text.charCodeAt(next) === code.colon
}

/** The key that a quoted text stands for; one that is not valid JSON as it is. */
function readKey(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

/**
 * Refuses a body whose headers say that it is compressed, or in another charset than UTF-8, before somebody looks for text in it
 * (RFC 9110 §15.5.16).
 * @throws ApiError InvalidInput (415).
 */
export function refuseEncoded({ headers }: Pick<FastifyRequest, 'headers'>): void {
  const encoding = headers['content-encoding']?.trim() || 'identity'
  if (encoding.toLowerCase() !== 'identity') throw encodedBody(encoding)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset)) throw unsupportedMediaType(`UTF-8, not ${charset}`)
}

/**
 * The text of a body. What is not UTF-8 is refused: to replace it would store other text than was sent (RFC 8259 §8.1).
 * @throws ApiError InvalidInput.
 */
export function textOfBody(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw notUtf8()
  return bytes.toString()
}

/** Whether a body has no bytes. One without a stated length is read up to its first bytes; the stream stays open, since an answer follows. */
export async function isEmptyBody({ headers }: Pick<FastifyRequest, 'headers'>, body: Readable): Promise<boolean> {
  if (Number(headers['content-length'] ?? 0) > 0) return false
  const chunks = body.iterator({ destroyOnReturn: false })
  const { done } = await chunks.next()
  await chunks.return?.()
  return done === true
}

/** 400 for bytes that are no UTF-8. */
export const notUtf8 = () => invalidInput('The body is not valid UTF-8. Encode it as UTF-8, and send it again.')

/** A body of more bytes is parsed in a slice of its own, so that many large bodies do not hold up other requests. */
const largeBytes = 64 * 1024

/**
 * Reads a JSON body, as `parseJsonBody` does.
 * @throws ApiError InvalidInput, also for what is not UTF-8.
 */
export async function readJsonBody(bytes: Buffer): Promise<unknown> {
  if (bytes.length > largeBytes) await nextSlice()
  return parseJsonBody(textOfBody(bytes))
}

/**
 * The value of a JSON body; none at all is undefined, whatever type was announced for it. A duplicate key is refused: which of the two counts would be unclear.
 * @throws ApiError InvalidInput, naming the key.
 */
function parseJsonBody(text: string): unknown {
  if (text === '') return undefined
  const repeated = scanJson(text, maxBodyValues)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalidInput(
      `The body is not valid JSON: ${error instanceof Error ? error.message.replace(/ in JSON|, ".*$/g, '') : 'unreadable'}`,
    )
  }
  if (repeated !== null) throw invalidInput(`${repeated}: duplicate key. Send it once.`, repeated)
  return value
}
