import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../log.ts'
import { type RequestEnd, shownPath } from './request-log.ts'
import { routeOf } from './route-of.ts'

/**
 * Takes the id of a request over from the header X-Request-Id, so that it is the same in a proxy's log; one that could not be an id, or that
 * could be a secret, is replaced.
 */
export const requestIdsFrom =
  (make: () => string) =>
  ({ headers }: IncomingMessage): string => {
    const given = headers['x-request-id']
    return typeof given === 'string' && sane.test(given) && !secret.test(given) ? given : make()
  }

const sane = /^[\w.:=+/-]{1,128}$/
const secret = /svc_/i

/** Has the answers to requests say their id, and gives what logs a request in fields. */
export function describeInFields(app: FastifyInstance): (log: Log, end: RequestEnd) => void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    const { socket } = request.raw
    // Before Node's own listener, which begins to send the next answer over the connection.
    reply.raw.prependListener('finish', () => {
      const sentBefore = sent.get(socket) ?? 0
      sent.set(socket, socket.bytesWritten)
      bytesOf.set(request.raw, socket.bytesWritten - sentBefore)
    })
    done()
  })
  return (log, { request, status, ms }) => {
    const { method, scope, ip, raw } = request
    const { operation, refusal } = request.remark ?? {}
    const path = shownPath(request)
    log[refusal?.level ?? 'info'](`${method} ${path} ${status}`, {
      requestId: request.id,
      userId: scope?.userId ?? null,
      tokenPrefix: scope?.tokenPrefix ?? null,
      address: ip || null,
      method,
      route: routeOf(request),
      path,
      status,
      ms: Math.round(ms * 10) / 10,
      bytes: bytesOf.get(raw) ?? raw.socket.bytesWritten - (sent.get(raw.socket) ?? 0),
      queries: scope?.queries ?? 0,
      ...(operation !== undefined && { operation }),
      ...(refusal && { reason: refusal.reason }),
    })
  }
}

/** How much was sent over a connection when its latest answer was complete. Answers go out one after the other. */
const sent = new WeakMap<Socket, number>()
/** How much of that was the answer to a request. */
const bytesOf = new WeakMap<IncomingMessage, number>()
