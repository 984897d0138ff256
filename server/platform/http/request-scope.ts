import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AsyncLocalStorage } from 'node:async_hooks'

/** Data of a request that is available to all code that runs for it. */
export type RequestScope = {
  id: string
  userId: string | null
  /** First characters of the access token in use. */
  tokenPrefix: string | null
  /** Number of database statements. */
  queries: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set only if a setting requires it (see `scopeRequests`). */
    scope?: RequestScope | null
  }
}

const scopes = new AsyncLocalStorage<RequestScope>()

/** Returns the scope of the current request, or undefined outside of requests or if scopes are disabled. */
export const currentScope = (): RequestScope | undefined => scopes.getStore()

/** Creates a scope for every request. Must be called before other hooks are added. */
export function scopeRequests(app: FastifyInstance): void {
  app.decorateRequest('scope', null)
  wrapRequests(app, (request, work) => {
    request.scope ??= { id: request.id, userId: null, tokenPrefix: null, queries: 0 }
    scopes.run(request.scope, work)
  })
}

/** Runs all work of a request inside `wrap`, which is called more than once per request. Must be called before other hooks are added. */
export function wrapRequests(app: FastifyInstance, wrap: (request: FastifyRequest, work: () => void) => void): void {
  app.addHook('onRequest', (request, _reply, done) => wrap(request, done))
  // After the body is read, execution continues from the connection's event, outside of the async context of the request.
  app.addHook('preValidation', (request, _reply, done) => wrap(request, done))
}
