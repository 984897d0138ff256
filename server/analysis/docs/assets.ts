import type { FastifyInstance } from 'fastify'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { compressText } from '../../platform/http/caching/compression.ts'
import { isFresh, sendHeadersOnly } from '../../platform/http/caching/conditional.ts'
import { refuseOtherMethods } from '../../platform/http/methods.ts'

const files = { 'docs.css': 'text/css; charset=utf-8', 'docs.js': 'text/javascript; charset=utf-8' }

/**
 * Serves the stylesheet and the script of documentation pages, without authentication, at a path that no package can have. Documentation pages have
 * an opaque origin (see headers.ts), so these files are cross-origin for the browser.
 */
export function mountDocsAssets(app: FastifyInstance): void {
  for (const [name, type] of Object.entries(files)) {
    const path = `/documentation/-/${name}`
    const content = readFileSync(new URL(`../api-pages/assets/${name}`, import.meta.url))
    const etag = `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
    app.get(path, { onSend: compressText }, async (request, reply) => {
      reply.header('etag', etag).header('cache-control', 'public, max-age=300').header('cross-origin-resource-policy', 'cross-origin')
      if (isFresh(request, etag)) return sendHeadersOnly(request, reply.code(304))
      return reply.type(type).send(content)
    })
    refuseOtherMethods(app, path, ['GET'])
  }
}
