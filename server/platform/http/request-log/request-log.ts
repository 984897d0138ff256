import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import { randomText } from '../keys.ts'
import type { Log } from '../log.ts'
import { maskPath } from './mask-path.ts'
import { wasTooSlow } from '../connections/pace.ts'
import { routeOf } from './route-of.ts'

/** A finished request: the response was sent completely, or the client disconnected. */
export type RequestEnd = { request: FastifyRequest; response: ServerResponse; status: number; ms: number }

type Options = {
  /** Writes the log line: plain text by default, or JSON fields (see `createJsonRequestWriter`). */
  write?: ((log: Log, end: RequestEnd) => void) | undefined
  /** Other listeners for finished requests. */
  listeners?: ((end: RequestEnd) => void)[]
  /** Whether successful probes are logged. */
  probes?: boolean
}

/**
 * Logs one line per request: method, path without query, status, duration, client address and request id. GraphQL requests add the operation; failed
 * requests add the reason if the response does not include it.
 */
export function logRequests(app: FastifyInstance, log: Log, options: Options = {}): void {
  const { write: writeEnd = writeText, listeners = [], probes = true } = options
  app.decorateRequest('remark', null)
  app.decorateRequest('isLogged', false)
  const write = (end: RequestEnd) => {
    if (probes || !isHealthyProbe(end)) writeEnd(log, end)
  }
  const notify = listeners.reduce((first, then) => (end) => (first(end), then(end)), write)
  // Direct listeners: Fastify's `onResponse` hooks take about 5% of the time of a short request.
  app.addHook('onRequest', (request, { raw: response }, done) => {
    const startedAt = performance.now()
    const end = (status: number) => {
      if (request.isLogged) return
      request.isLogged = true
      notify({ request, response, status, ms: performance.now() - startedAt })
    }
    const goAway = () => end(wasTooSlow(request.raw) ? 408 : clientWentAway)
    response.on('finish', () => end(response.statusCode))
    response.on('close', goAway)
    // A response queued behind earlier ones emits no `close` when its connection closes, but its request does.
    const isWaiting = () => response.socket === null && !response.writableEnded
    if (isWaiting()) request.raw.once('close', () => void (isWaiting() && goAway()))
    done()
  })
}

function writeText(log: Log, { request, status, ms }: RequestEnd): void {
  const { operation, refusal } = request.remark ?? {}
  const more = (operation ? ` ${operation}` : '') + (refusal ? ` failed: ${refusal.reason}` : '')
  const line = `${request.method} ${shownPath(request)} ${status} ${Math.round(ms)}ms ${request.ip || unknownAddress} ${request.id}${more}`
  log[refusal?.level ?? 'info'](line)
}

/** Failed probes are always logged. */
const isHealthyProbe = ({ request, status }: RequestEnd): boolean => status < 400 && probe.test(routeOf(request))

const probe = /\/(?:livez|readyz|healthz|api\/v1\/health)$/

/** nginx's status code for a client that closed the connection. */
const clientWentAway = 499

/** Returns a generator of request ids. A random prefix keeps the ids of several processes and restarts distinct in one log. */
export function requestIds(): () => string {
  const prefix = randomText(6)
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}

/** Placeholder for an unknown address, for example if the client disconnected before the address was read. */
const unknownAddress = '-'

/** Returns the path of a request for the log, without query, and with secrets masked. */
export function shownPath({ raw: { url = '' } }: FastifyRequest): string {
  const end = url.indexOf('?')
  return maskPath(end < 0 ? url : url.slice(0, end))
}
