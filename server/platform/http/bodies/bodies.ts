import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { parse } from 'node:querystring'
import { unavailable } from '../../db/unavailable.ts'
import { invalidInput, unsupportedMediaType } from '../../../errors.ts'
import { openBodyLimit } from '../failures.ts'
import { notUtf8, refuseEncoded, textOfBody } from './json-body.ts'

/**
 * Accepts URL-encoded forms and JSON on the routes of this scope; other types get 415. `request.body` holds the fields; a repeated field is an array.
 */
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

/**
 * Accepts multipart forms and `application/octet-stream` on the routes of this scope, as streams. The handler reads them and enforces its own limits.
 */
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

/**
 * Whether the multipart parser reported the error. Its errors are plain `Error`s without a code, unlike errors of the file system and the database.
 */
const isFormFault = (error: unknown): error is Error =>
  error instanceof Error && error.constructor === Error && !('code' in error) && !unavailable(error)
