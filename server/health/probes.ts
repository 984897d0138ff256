import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { refuseOtherMethods } from '../http/methods.ts'
import type { Services } from '../services.ts'
import { openReadiness } from './readiness.ts'

/** For orchestrators: `/livez` while the process can answer, `/readyz` and `/healthz` while it can serve. They need no credentials and no setup. */
export function mountProbes(app: FastifyInstance, services: Services): void {
  const readiness = openReadiness(services)
  const sayAlive: RouteHandlerMethod = async (_request, reply) => reply.type(json).send(JSON.stringify({ status: 'ok' }))
  const sayReady: RouteHandlerMethod = async (_request, reply) => {
    const { isReady, checks } = await readiness()
    const states = Object.fromEntries(Object.entries(checks).map(([name, passed]) => [name, { status: passed ? 'ok' : 'error' }]))
    if (!isReady) reply.code(503).header('retry-after', '5')
    return reply.type(json).send(JSON.stringify({ status: isReady ? 'ok' : 'unavailable', checks: states }))
  }
  // Orchestrators ask the process itself, who does not know of a path that SERVER_URL ends in; people ask at SERVER_URL.
  const prefix = new URL(services.config.SERVER_URL).pathname.replace(/\/$/, '')
  for (const place of new Set(['', prefix])) {
    for (const [path, handler] of [
      ['/livez', sayAlive],
      ['/readyz', sayReady],
      ['/healthz', sayReady],
    ] as const) {
      app.get(place + path, handler)
      refuseOtherMethods(app, place + path, ['GET'])
    }
  }
}

const json = 'application/json; charset=utf-8'
