import type { FastifyInstance } from 'fastify'
import type { Log } from './log.ts'

/** Logs a line per request: method, path without query, status, duration (interface §6). */
export function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', (request, reply, done) => {
    const path = request.raw.url?.split('?', 1)[0] ?? ''
    log.info(`${request.method} ${withoutSecrets(path)} ${reply.statusCode} ${Math.round(reply.elapsedTime)}ms`)
    done()
  })
}

/** Invitations carry their token in the path; a token of another kind gets there by mistake only. */
const withoutSecrets = (path: string): string => path.replace(/(\/invites?\/)[^/]+/, '$1***').replace(/svc_pat_\w+/g, 'svc_pat_***')
