import type { FastifyInstance } from 'fastify'

/** What every answer carries. Pages add a Content-Security-Policy of their own; nothing here may be framed, sniffed or read across origins. */
export function secureHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    const { raw } = reply
    raw.setHeader('x-content-type-options', 'nosniff')
    raw.setHeader('referrer-policy', 'same-origin')
    raw.setHeader('x-frame-options', 'DENY')
    raw.setHeader('cross-origin-resource-policy', 'same-origin')
    done()
  })
}
