import type { FastifyInstance } from 'fastify'
import type { Log } from './log.ts'

/** Logs a line per request: method, path without query, status, duration (interface §6). */
export function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', (request, reply, done) => {
    const path = request.raw.url?.split('?', 1)[0] ?? ''
    log.info(
      `${request.method} ${path.replace(/\/invites?\/[^/]+/, (match) => match.replace(/[^/]+$/, '***'))} ${reply.statusCode} ${Math.round(reply.elapsedTime)}ms`,
    )
    done()
  })
}
