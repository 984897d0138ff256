import type { FastifyRequest, FastifyInstance } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import { parse } from 'node:querystring'
import { bodyTooLarge, encodedBody, invalidInput, unsupportedMediaType } from '../../errors.ts'
import { nextSlice } from '../threads/slices.ts'
import { unavailable } from '../db/unavailable.ts'
import { openBodyLimit } from './failures.ts'

/** Limits far above what any API request needs. */
const maxDepth = 64
const maxBodyValues = 10_000

/**
 * Throws if JSON is nested too deeply or has too many values, counting each array or object too. Scans the text once, without recursion.
 * @throws ApiError InvalidInput.
 */
export function refuseLargeJson(text: string, maxValues = maxBodyValues): void {
  scanJson(text, maxValues)
}

/**
 * Scans JSON once and returns the first duplicate key of an object, or null. Syntax errors are left to the parser.
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

/** Throws InvalidInput (415) if the headers announce a compressed body or a charset other than UTF-8 (RFC 9110 §15.5.16). */
export function refuseEncoded({ headers }: Pick<FastifyRequest, 'headers'>): void {
  const encoding = headers['content-encoding']?.trim() || 'identity'
  if (encoding.toLowerCase() !== 'identity') throw encodedBody(encoding)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset)) throw unsupportedMediaType(`UTF-8, not ${charset}`)
}

/** Decodes a body as UTF-8. Throws InvalidInput for invalid bytes: replacing them would change the text that the client sent (RFC 8259 §8.1). */
function textOfBody(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw notUtf8()
  return bytes.toString()
}

/** Whether a body is empty. If its length is unknown, reads up to the first bytes and leaves the stream open for the response. */
export async function isEmptyBody({ headers }: Pick<FastifyRequest, 'headers'>, body: Readable): Promise<boolean> {
  if (Number(headers['content-length'] ?? 0) > 0) return false
  const chunks = body.iterator({ destroyOnReturn: false })
  const { done } = await chunks.next()
  await chunks.return?.()
  return done === true
}

/**
 * Reads a body, unless its headers announce that it is too large, compressed or not UTF-8. Leaves the stream open for the response.
 * @throws ApiError InvalidInput
 */
export async function readBody(request: FastifyRequest, body: Readable, maxBytes: number): Promise<Buffer> {
  refuseEncoded(request)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length
      if (bytes > maxBytes) throw bodyTooLarge(maxBytes)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    throw bodyFault(request, error)
  }
  return Buffer.concat(chunks)
}

/** Returns the error for a body that is not valid UTF-8. */
const notUtf8 = () => invalidInput('The body is not valid UTF-8. Encode it as UTF-8, and send it again.')

/** Bodies larger than this wait for a separate time slice before parsing, so that many large bodies do not block other requests. */
const largeBytes = 64 * 1024

/**
 * Decodes and parses a JSON body. See `parseJsonBody`.
 * @throws ApiError InvalidInput, also for invalid UTF-8.
 */
export async function readJsonBody(bytes: Buffer): Promise<unknown> {
  if (bytes.length > largeBytes) await nextSlice()
  return parseJsonBody(textOfBody(bytes))
}

/**
 * Parses a JSON body. An empty body is undefined, whatever its content type. Duplicate keys are rejected because their meaning is ambiguous.
 * @throws ApiError InvalidInput; a duplicate key is the error's field.
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

/** Accepts URL-encoded forms and JSON on the routes of this scope. `request.body` holds the fields; a repeated field is an array. */
export async function acceptForms(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  const options = { parseAs: 'buffer', bodyLimit: openBodyLimit } as const
  const parseJson = scope.getDefaultJsonParser('error', 'error')
  scope.addContentTypeParser(
    'application/json',
    options,
    (request, bytes: Buffer, done) => void parseJson(request, textOfBody(bytes), done),
  )
  scope.addContentTypeParser('application/x-www-form-urlencoded', options, async (_request: FastifyRequest, bytes: Buffer) => formOf(bytes))
  scope.addHook('preParsing', async (request) => refuseEncoded(request))
}

/** Parses a URL-encoded form. Throws InvalidInput unless its percent-decoded bytes are valid UTF-8. */
function formOf(bytes: Buffer): unknown {
  const text = textOfBody(bytes)
  const decoded = bytes
    .toString('latin1')
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1'))
  if (!isUtf8(Buffer.from(decoded, 'latin1'))) throw notUtf8()
  return parse(text)
}

/** Accepts multipart forms and `application/octet-stream` on the routes of this scope, as streams, which the handler reads and limits. */
export async function acceptBytes(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null))
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(unsupportedMediaType('multipart/form-data or application/octet-stream')),
  )
  await scope.register(multipart, { throwFileSizeLimit: false })
}

/** Accepts only multipart forms on the routes of this scope, as streams. */
export async function acceptFiles(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(unsupportedMediaType('multipart/form-data')))
  await scope.register(multipart, { throwFileSizeLimit: false })
}

/** Converts an error that occurred while reading a request body to the error to respond with. */
export function bodyFault(request: FastifyRequest, error: unknown): unknown {
  if (request.raw.errored) return invalidInput('The connection was closed before the request body was complete. Send the request again.')
  return isFormFault(error) ? invalidInput(`The form is not well-formed: ${error.message}`) : error
}

/** Whether the multipart parser reported the error: its errors have no code, unlike those of the file system and the database. */
const isFormFault = (error: unknown): error is Error =>
  error instanceof Error && error.constructor === Error && !('code' in error) && !unavailable(error)
