import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { parse } from 'node:querystring'
import { unsupportedMediaType } from '../errors.ts'

const formLimit = 64 * 1024

/** Lets the routes of this scope take small forms and JSON alike, and nothing else: `request.body` holds the fields, a list for a repeated one. */
export async function acceptForms(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/json', { parseAs: 'string', bodyLimit: formLimit }, scope.getDefaultJsonParser('error', 'error'))
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: formLimit }, (_request, text, done) =>
    done(null, parse(String(text))),
  )
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
