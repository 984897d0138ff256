import type { FastifyInstance } from 'fastify'
import { AsyncLocalStorage } from 'node:async_hooks'

/** What is known of a request wherever its work is done. */
export type RequestScope = {
  id: string
  userId: string | null
  /** The first characters of the access token that was accepted. */
  tokenPrefix: string | null
  /** How many statements ran for it. */
  queries: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Only where a setting asks for what it tells (`scopeRequests`). */
    scope?: RequestScope | null
  }
}

const scopes = new AsyncLocalStorage<RequestScope>()

/** The request that is worked on here; undefined for other work, and where requests have no scope. */
export const currentScope = (): RequestScope | undefined => scopes.getStore()

/** Gives every request a scope. To be called before other hooks are added. */
export function scopeRequests(app: FastifyInstance): void {
  app.decorateRequest('scope', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const scope = { id: request.id, userId: null, tokenPrefix: null, queries: 0 }
    request.scope = scope
    scopes.run(scope, done)
  })
  // What follows the reading of a body comes from its connection, which has no scope.
  app.addHook('preValidation', ({ scope }, _reply, done) => (scope ? scopes.run(scope, done) : done()))
}
