import type { FastifyInstance, FastifyRequest, HTTPMethods, onRequestHookHandler } from 'fastify'
import findMyWay, { type HTTPVersion, type Instance } from 'find-my-way'
import { methodNotAllowed, unknownAddress } from '../../errors.ts'

/** Methods of endpoints. HEAD is implied by GET. */
export type Method = Extract<HTTPMethods, 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'>

declare module 'fastify' {
  interface FastifyInstance {
    /** All paths of the server, looked up independently of the method. */
    paths: Instance<HTTPVersion.V1>
    /** Hook for catch-all routes: responds with 405 if the path exists but does not support the request's method. */
    rejectOtherMethod: onRequestHookHandler
  }
}

/** How a path responds to unsupported methods. */
type Path = { allow: readonly string[]; exists: (request: FastifyRequest) => boolean; scope: FastifyInstance }

type Options = { serverUrl: string; routerOptions: { maxParamLength: number; ignoreTrailingSlash: boolean } }

/**
 * Rejects requests that match no route before their bodies are read: with 405 if the path supports other methods (see `rejectOtherMethods`),
 * otherwise with 404. Paths are kept in a separate table because a route for each missing method would make up most of the router.
 */
export function rejectUnrouted(app: FastifyInstance, { serverUrl, routerOptions }: Options): void {
  app.decorate('paths', findMyWay(routerOptions))
  const rejectOtherMethod: onRequestHookHandler = (request, reply, done) => {
    const path = pathOf(app, request)
    if (!path || path.allow.includes(request.method)) return done()
    const allow = path.allow.join(', ')
    reply.header('allow', allow)
    path.scope.errorHandler(Object.assign(methodNotAllowed(allow), { statusCode: 405 }), request, reply)
  }
  app.decorate('rejectOtherMethod', rejectOtherMethod)
  app.addHook('onRequest', function (request, reply, done) {
    if (request.is404) rejectOtherMethod.call(this, request, reply, () => done(unknownAddress(serverUrl)))
    else done()
  })
}

/** Responds with 405 to methods that a path does not support. If `path` is a pattern, `exists` decides whether the resource exists. */
export function rejectOtherMethods(
  scope: FastifyInstance,
  path: string,
  has: readonly Method[],
  exists: Path['exists'] = () => true,
): void {
  const allow = has.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method]))
  // In a scope with a prefix, `/` also matches the prefix itself.
  const addresses = path === '/' && scope.prefix ? [scope.prefix, `${scope.prefix}/`] : [scope.prefix + path]
  for (const address of addresses) scope.paths.on('GET', address, () => {}, { allow, exists, scope } satisfies Path)
}

function pathOf({ paths }: FastifyInstance, request: FastifyRequest): Path | undefined {
  const path = paths.find('GET', request.url.split('?', 1)[0] ?? '')?.store as Path | undefined
  return path?.exists(request) ? path : undefined
}
