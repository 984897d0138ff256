import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { refuseOtherMethods } from '../../platform/http/methods.ts'
import { basePath } from '../../platform/http/public-url.ts'
import type { Services } from '../../services.ts'
import { openReadiness } from './readiness.ts'

/**
 * Registers the probes for orchestrators: `/livez` reports that the process runs; `/readyz` and `/healthz` that it can serve requests. They need
 * neither credentials nor a completed setup.
 */
export function mountProbes(app: FastifyInstance, services: Services): void {
  const readiness = openReadiness(services)
  const sayAlive: RouteHandlerMethod = async (_request, reply) => reply.type(json).send(JSON.stringify({ status: 'ok' }))
  const sayReady: RouteHandlerMethod = async (_request, reply) => {
    const { isReady, checks } = await readiness()
    const states = Object.fromEntries(Object.entries(checks).map(([name, passed]) => [name, { status: passed ? 'ok' : 'error' }]))
    if (!isReady) reply.code(503).header('retry-after', '5')
    return reply.type(json).send(JSON.stringify({ status: isReady ? 'ok' : 'unavailable', checks: states }))
  }
  // Orchestrators query the root path of the process; users query SERVER_URL, which may include a path.
  for (const place of new Set(['', basePath(services.config.SERVER_URL)])) {
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
