import type { FastifyInstance, FastifyRequest } from 'fastify'
import { randomText } from './keys.ts'
import type { Log } from './log.ts'
import { maskPath } from './mask-path.ts'
import { wasTooSlow } from './pace.ts'

/** Logs a line per request: method, path without query, status, duration, the client's address, request id. */
export function logRequests(app: FastifyInstance, log: Log): void {
  const write = (request: FastifyRequest, status: number, ms: number) =>
    log.info(
      `${request.method} ${pathOf(request.raw.url ?? '')} ${status} ${Math.round(ms)}ms ${request.ip || unknownAddress} ${request.id}`,
    )
  app.addHook('onResponse', (request, reply, done) => {
    write(request, reply.statusCode, reply.elapsedTime)
    done()
  })
  // The client went away before the answer: nginx calls that 499. How long it waited is not known here.
  app.addHook('onRequestAbort', (request, done) => {
    write(request, wasTooSlow(request.raw) ? 408 : 499, 0)
    done()
  })
}

/** Numbers requests so that the ids of several processes, and of one before and after a restart, differ in one log. */
export function requestIds(): () => string {
  const prefix = randomText(6)
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}

/** What the log shows where there is no address, as when the client was gone before anybody asked for it. */
const unknownAddress = '-'

function pathOf(url: string): string {
  const end = url.indexOf('?')
  return maskPath(end < 0 ? url : url.slice(0, end))
}
