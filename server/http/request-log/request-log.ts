import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import { randomText } from '../keys.ts'
import type { Log } from '../log.ts'
import { maskPath } from './mask-path.ts'
import { wasTooSlow } from '../connections/pace.ts'

/** A request that has ended: with an answer that went out whole, or because its client went away. */
export type RequestEnd = { request: FastifyRequest; response: ServerResponse; status: number; ms: number }

type Options = {
  /** A plain line, or what a line of JSON takes (`describeInFields`). */
  write?: ((log: Log, end: RequestEnd) => void) | undefined
  /** Who else hears of it. */
  alsoTell?: ((end: RequestEnd) => void)[]
}

/** Logs a line per request: method, path without query, status, duration, the client's address, request id. */
export function logRequests(app: FastifyInstance, log: Log, { write: writeEnd = writePlainly, alsoTell = [] }: Options = {}): void {
  const write = (end: RequestEnd) => writeEnd(log, end)
  const tell = alsoTell.reduce((first, then) => (end) => (first(end), then(end)), write)
  // Listeners of its own instead of Fastify's hooks for the end of a request, which take a twentieth of a short request's time.
  app.addHook('onRequest', (request, { raw: response }, done) => {
    const startedAt = performance.now()
    let isLogged = false
    const end = (status: number) => {
      if (!isLogged) tell({ request, response, status, ms: performance.now() - startedAt })
      isLogged = true
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

const writePlainly = (log: Log, { request, status, ms }: RequestEnd): void =>
  log.info(`${request.method} ${shownPath(request)} ${status} ${Math.round(ms)}ms ${request.ip || unknownAddress} ${request.id}`)

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
