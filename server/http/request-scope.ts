import type { FastifyInstance, FastifyRequest } from 'fastify'
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
  wrapRequests(app, (request, work) => {
    request.scope ??= { id: request.id, userId: null, tokenPrefix: null, queries: 0 }
    scopes.run(request.scope, work)
  })
}

/** Has everything that is done for a request done inside of `wrap`, which is called more than once for it. To be called before other hooks are added. */
export function wrapRequests(app: FastifyInstance, wrap: (request: FastifyRequest, work: () => void) => void): void {
  app.addHook('onRequest', (request, _reply, done) => wrap(request, done))
  // What follows the reading of a body comes from its connection, which is not part of the request.
  app.addHook('preValidation', (request, _reply, done) => wrap(request, done))
}
