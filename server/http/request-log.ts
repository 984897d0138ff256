import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Log } from './log.ts'

/** Logs a line per request: method, path without query, status, duration (interface §6). */
export function logRequests(app: FastifyInstance, log: Log): void {
  const write = ({ method, raw }: FastifyRequest, status: number, ms: number) =>
    log.info(`${method} ${pathOf(raw.url ?? '')} ${status} ${Math.round(ms)}ms`)
  app.addHook('onResponse', (request, reply, done) => {
    write(request, reply.statusCode, reply.elapsedTime)
    done()
  })
  // The client went away before the answer: nginx calls that 499. How long it waited is not known here.
  app.addHook('onRequestAbort', (request, done) => {
    write(request, 499, 0)
    done()
  })
}

function pathOf(url: string): string {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  return path.includes('/invite') || path.includes('svc_pat_') ? withoutSecrets(path) : path
}

/** Invitations carry their token in the path; a token of another kind gets there by mistake only. */
const withoutSecrets = (path: string): string => path.replace(/(\/invites?\/)[^/]+/, '$1***').replace(/svc_pat_\w+/g, 'svc_pat_***')
