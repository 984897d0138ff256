import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import { randomText } from '../keys.ts'
import type { Log } from '../log.ts'
import { maskPath } from './mask-path.ts'
import { wasTooSlow } from '../connections/pace.ts'
import { routeOf } from './route-of.ts'

/** A request that has ended: with an answer that went out whole, or because its client went away. */
export type RequestEnd = { request: FastifyRequest; response: ServerResponse; status: number; ms: number }

type Options = {
  /** A plain line, or what a line of JSON takes (`describeInFields`). */
  write?: ((log: Log, end: RequestEnd) => void) | undefined
  /** Who else hears of it. */
  alsoTell?: ((end: RequestEnd) => void)[]
  /** Whether probes that succeed are logged. */
  probes?: boolean
}

/**
 * Logs a line per request: method, path without query, status, duration, the client's address, request id. A request to GraphQL is followed by its
 * operation, and a refused one by the reason that the answer does not give.
 */
export function logRequests(app: FastifyInstance, log: Log, options: Options = {}): void {
  const { write: writeEnd = writePlainly, alsoTell = [], probes = true } = options
  app.decorateRequest('remark', null)
  app.decorateRequest('isLogged', false)
  const write = (end: RequestEnd) => {
    if (probes || !isHealthyProbe(end)) writeEnd(log, end)
  }
  const tell = alsoTell.reduce((first, then) => (end) => (first(end), then(end)), write)
  // Listeners of its own instead of Fastify's hooks for the end of a request, which take a twentieth of a short request's time.
  app.addHook('onRequest', (request, { raw: response }, done) => {
    const startedAt = performance.now()
    const end = (status: number) => {
      if (request.isLogged) return
      request.isLogged = true
      tell({ request, response, status, ms: performance.now() - startedAt })
    }
    const goAway = () => end(wasTooSlow(request.raw) ? 408 : clientWentAway)
    response.on('finish', () => end(response.statusCode))
    response.on('close', goAway)
    // A response that waits for earlier ones is not told when its connection ends, but its request is.
    const isWaiting = () => response.socket === null && !response.writableEnded
    if (isWaiting()) request.raw.once('close', () => void (isWaiting() && goAway()))
    done()
  })
}

function writePlainly(log: Log, { request, status, ms }: RequestEnd): void {
  const { operation, refusal } = request.remark ?? {}
  const more = (operation ? ` ${operation}` : '') + (refusal ? ` failed: ${refusal.reason}` : '')
  const line = `${request.method} ${shownPath(request)} ${status} ${Math.round(ms)}ms ${request.ip || unknownAddress} ${request.id}${more}`
  log[refusal?.level ?? 'info'](line)
}

/** A probe that fails is logged in any case. */
const isHealthyProbe = ({ request, status }: RequestEnd): boolean => status < 400 && probe.test(routeOf(request))

const probe = /\/(?:livez|readyz|healthz|api\/v1\/health)$/

/** What nginx answers in the log where nobody was there any more to take the answer. */
const clientWentAway = 499

/** Numbers requests so that the ids of several processes, and of one before and after a restart, differ in one log. */
export function requestIds(): () => string {
  const prefix = randomText(6)
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}

/** What the log shows where there is no address, as when the client was gone before anybody asked for it. */
const unknownAddress = '-'

/** The path of a request as the log may show it. */
export function shownPath({ raw: { url = '' } }: FastifyRequest): string {
  const end = url.indexOf('?')
  return maskPath(end < 0 ? url : url.slice(0, end))
}
