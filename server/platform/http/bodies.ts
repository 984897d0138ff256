import type { FastifyRequest, FastifyInstance } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import { parse } from 'node:querystring'
import { bodyInterrupted, bodyTooLarge, encodedBody, invalidInput, unsupportedMediaType } from '../../errors.ts'
import { yieldToEventLoop } from '../threads/slices.ts'
import { unavailable } from '../db/unavailable.ts'
import { openBodyLimit } from './failures.ts'
import { maxBodyValues, scanJson } from './json-size.ts'

/** Throws InvalidInput (415) if the headers announce a compressed body or a charset other than UTF-8 (RFC 9110 §15.5.16). */
function rejectEncoded({ headers }: Pick<FastifyRequest, 'headers'>): void {
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
 * Reads a body of at most `maxBytes`. Rejects compressed bodies and character sets other than UTF-8 by their headers. Leaves the stream open for the
 * response.
 * @throws ApiError InvalidInput
 */
export async function readBody(request: FastifyRequest, body: Readable, maxBytes: number): Promise<Buffer> {
  rejectEncoded(request)
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
  if (bytes.length > largeBytes) await yieldToEventLoop()
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
  scope.addHook('preParsing', async (request) => rejectEncoded(request))
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

/** Accepts UTF-8 text of any content type except forms with files on the routes of this scope. `request.body` is the text. */
export async function acceptText(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('multipart/form-data', (_request, _payload, done) =>
    done(unsupportedMediaType('the file itself, not as a form, for example with curl --data-binary')),
  )
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => textOfBody(bytes))
  scope.addHook('preParsing', async (request) => rejectEncoded(request))
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
  if (request.raw.errored) return bodyInterrupted()
  return isFormFault(error) ? invalidInput(`The form is not well-formed: ${error.message}`) : error
}

/** Whether the multipart parser reported the error: its errors have no code, unlike those of the file system and the database. */
const isFormFault = (error: unknown): error is Error =>
  error instanceof Error && error.constructor === Error && !('code' in error) && !unavailable(error)
