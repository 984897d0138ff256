import type { FastifyInstance } from 'fastify'

/** What every answer carries. Pages add a Content-Security-Policy of their own; nothing here may be framed, sniffed or read across origins. */
export function secureHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
}

const headers = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
}
