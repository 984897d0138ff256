import type { FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { visit } from 'jsonc-parser'
import { encodedBody, invalidInput, unsupportedMediaType } from '../../errors.ts'

/** Nothing that the API takes is nested deeper than this by far. */
const maxDepth = 64

/**
 * Refuses JSON that is nested too deep, before anything walks through it. One pass, without recursion.
 * @throws ApiError InvalidInput.
 */
export function refuseDeepJson(text: string): void {
  let depth = 0
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted) index += character === '\\' ? 1 : 0
    else if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    if (depth > maxDepth) throw invalidInput(`The JSON is nested deeper than ${maxDepth} levels.`)
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

/** 400 for bytes that are no UTF-8. */
export const notUtf8 = () => invalidInput('The body is not valid UTF-8. Encode it as UTF-8, and send it again.')

/**
 * The value of a JSON body; none at all is undefined, whatever type was announced for it. A duplicate key is refused: which of the two counts would be unclear.
 * @throws ApiError InvalidInput, naming the key.
 */
export function parseJsonBody(text: string): unknown {
  if (text === '') return undefined
  refuseDeepJson(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalidInput(
      `The body is not valid JSON: ${error instanceof Error ? error.message.replace(/ in JSON|, ".*$/g, '') : 'unreadable'}`,
    )
  }
  const repeated = repeatedKey(text)
  if (repeated !== null) throw invalidInput(`${repeated}: duplicate key. Send it once.`, repeated)
  return value
}

function repeatedKey(text: string): string | null {
  const open: Set<string>[] = []
  let repeated: string | null = null
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty: (key) => {
      const keys = open.at(-1)
      if (keys?.has(key)) repeated ??= key
      keys?.add(key)
    },
  })
  return repeated
}
