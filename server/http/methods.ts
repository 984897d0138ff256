import type { FastifyInstance, FastifyRequest, HTTPMethods, onRequestHookHandler } from 'fastify'
import findMyWay, { type HTTPVersion, type Instance } from 'find-my-way'
import { methodNotAllowed, unknownAddress } from '../errors.ts'

/** The methods that endpoints have. HEAD comes with GET. */
export type Method = Extract<HTTPMethods, 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'>

declare module 'fastify' {
  interface FastifyInstance {
    /** Every path of the server once, to be found by an address whatever the method. */
    paths: Instance<HTTPVersion.V1>
    /** A hook for a route that answers what no other does: a path which is there may come to it by a method that it lacks. */
    refuseOtherMethod: onRequestHookHandler
  }
}

/** What a path says to methods that it does not have. */
type Path = { allow: readonly string[]; exists: (request: FastifyRequest) => boolean; scope: FastifyInstance }

type Options = { serverUrl: string; routerOptions: { maxParamLength: number; ignoreTrailingSlash: boolean } }

/**
 * Refuses requests without a route before their bodies are read: 405 where the path has other methods (`refuseOtherMethods`), otherwise 404.
 * The paths are in a table of their own, because routes for each missing method of each path would be most of the router.
 */
export function refuseUnrouted(app: FastifyInstance, { serverUrl, routerOptions }: Options): void {
  app.decorate('paths', findMyWay(routerOptions))
  const refuseOtherMethod: onRequestHookHandler = (request, reply, done) => {
    const path = pathOf(app, request)
    if (!path || path.allow.includes(request.method)) return done()
    const allow = path.allow.join(', ')
    reply.header('allow', allow)
    path.scope.errorHandler(Object.assign(methodNotAllowed(allow), { statusCode: 405 }), request, reply)
  }
  app.decorate('refuseOtherMethod', refuseOtherMethod)
  app.addHook('onRequest', function (request, reply, done) {
    if (request.is404) refuseOtherMethod.call(this, request, reply, () => done(unknownAddress(serverUrl)))
    else done()
  })
}

/**
 * Makes a path answer the methods that it does not have with 405 and those that it has, whatever body comes with them. Where `path` is a
 * pattern, `exists` tells whether there is anything at the address of a request.
 */
export function refuseOtherMethods(
  scope: FastifyInstance,
  path: string,
  has: readonly Method[],
  exists: Path['exists'] = () => true,
): void {
  const allow = has.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method]))
  // Below a prefix, `/` is the prefix itself as well.
  const addresses = path === '/' && scope.prefix ? [scope.prefix, `${scope.prefix}/`] : [scope.prefix + path]
  for (const address of addresses) scope.paths.on('GET', address, () => {}, { allow, exists, scope } satisfies Path)
}

function pathOf({ paths }: FastifyInstance, request: FastifyRequest): Path | undefined {
  const path = paths.find('GET', request.url.split('?', 1)[0] ?? '')?.store as Path | undefined
  return path?.exists(request) ? path : undefined
}
