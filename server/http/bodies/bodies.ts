import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { parse } from 'node:querystring'
import { unavailable } from '../../db/unavailable.ts'
import { invalidInput, unsupportedMediaType } from '../../errors.ts'
import { openBodyLimit } from '../failures.ts'
import { notUtf8, refuseEncoded, textOfBody } from './json-body.ts'

/** Lets the routes of this scope take small forms and JSON alike, and nothing else: `request.body` holds the fields, a list for a repeated one. */
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

/** The fields of a form, whose percent-encoded bytes must be UTF-8 as well. */
function formOf(bytes: Buffer): unknown {
  const text = textOfBody(bytes)
  const decoded = bytes
    .toString('latin1')
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1'))
  if (!isUtf8(Buffer.from(decoded, 'latin1'))) throw notUtf8()
  return parse(text)
}

/** Lets the routes of this scope take forms and plain bytes as streams, and nothing else: the handler reads them, within its own limits. */
export async function acceptBytes(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null))
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(unsupportedMediaType('multipart/form-data or application/octet-stream')),
  )
  await scope.register(multipart, { throwFileSizeLimit: false })
}

/** Lets the routes of this scope take forms with files as streams, and nothing else. */
export async function acceptFiles(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(unsupportedMediaType('multipart/form-data')))
  await scope.register(multipart, { throwFileSizeLimit: false })
}

/** What to answer with when reading a body failed with `error`. */
export function bodyFault(request: FastifyRequest, error: unknown): unknown {
  if (request.raw.errored) return invalidInput('The connection broke before all was sent. Send it again.')
  return isFormFault(error) ? invalidInput(`The form is not well-formed: ${error.message}`) : error
}

/** The form reader's own complaints are plain errors; those of the disk have a code, and those of the database are known by their words. */
const isFormFault = (error: unknown): error is Error =>
  error instanceof Error && error.constructor === Error && !('code' in error) && !unavailable(error)
