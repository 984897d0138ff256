import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireCsrf } from './http/csrf.ts'
import type { Services } from './services.ts'
import { authenticate } from './sessions/authenticate.ts'
import { keepLastUse } from './sessions/last-use.ts'
import type { Scope } from './tokens/entity.ts'
import { usersById, type UsersById } from './users/loader.ts'
import { type Credential, effectiveScopes, type Viewer } from './users/policy.ts'

/** What a resolver knows of its request. The door (REST, GraphQL or a binary route) makes one per request. */
export type Context = Services & {
  request: FastifyRequest
  reply: FastifyReply
  em: EntityManager
  /** People by id, gathered over a request into one query. */
  people: UsersById
  viewer: Viewer | null
  credential: Credential | null
  /** What the credential may do right now; empty for nobody. */
  scopes: ReadonlySet<Scope>
  /** The client's address, behind trusted proxies. */
  ip: string
}

/** A context of somebody who signed in. */
export type SignedInContext = Context & { viewer: Viewer; credential: Credential }

const noScopes: ReadonlySet<Scope> = new Set()

/** Finds out who is asking. */
export async function createContext(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<Context> {
  const { database, keys, config } = services
  const now = services.now()
  const identity = await authenticate(request, database.reads, keys, config.SERVER_URL, now)
  if (identity) keepLastUse(services, identity, now)
  let em: EntityManager | undefined
  let people: UsersById | undefined
  const context: Context = {
    ...services,
    request,
    reply,
    // Made when it is needed: the hottest routes never touch the ORM.
    get em() {
      return (em ??= database.fork())
    },
    get people() {
      return (people ??= usersById(context.em))
    },
    viewer: identity?.viewer ?? null,
    credential: identity?.credential ?? null,
    scopes: identity ? effectiveScopes(identity.viewer, identity.credential) : noScopes,
    ip: request.ip,
  }
  return context
}

/** Refuses a change that rides on a cookie without its CSRF token. Every door calls this before it changes anything. */
export function guardChange({ request, credential, keys }: Context): void {
  if (credential?.kind === 'session') requireCsrf(request, keys, credential.id)
}
