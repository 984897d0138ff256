import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { unsupportedMediaType } from '../errors.ts'

/** Lets the routes of this scope take forms and plain bytes as streams, and nothing else: the handler reads them, within its own limits. */
export async function acceptBytes(scope: FastifyInstance): Promise<void> {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null))
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(unsupportedMediaType('multipart/form-data or application/octet-stream')),
  )
  await scope.register(multipart, { throwFileSizeLimit: false })
}
