import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../log.ts'
import { type RequestEnd, shownPath } from './request-log.ts'
import { routeOf } from './route-of.ts'

/**
 * Returns a generator of request ids. The id in the header X-Request-Id is used if it is valid, so that the logs of a proxy and the server share it.
 * Otherwise, or if it might be a secret, a new id is made.
 */
export const requestIdsFrom =
  (make: () => string) =>
  ({ headers }: IncomingMessage): string => {
    const given = headers['x-request-id']
    return typeof given === 'string' && sane.test(given) && !secret.test(given) ? given : make()
  }

const sane = /^[\w.:=+/-]{1,128}$/
const secret = /svc_/i

/** Adds the header X-Request-Id to responses, and returns a function that logs a request as JSON fields. */
export function createJsonRequestWriter(app: FastifyInstance): (log: Log, end: RequestEnd) => void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    const { socket } = request.raw
    // Runs before Node's own listener, which starts sending the next response on the connection.
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

/** Bytes sent on a connection up to the end of its latest response. Responses are sent one after another. */
const sent = new WeakMap<Socket, number>()
/** Bytes sent for the response to a request. */
const bytesOf = new WeakMap<IncomingMessage, number>()
