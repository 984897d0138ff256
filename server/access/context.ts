import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Budget } from './budget.ts'
import { requireCsrf } from '../http/csrf.ts'
import type { Bucket } from '../http/limits/limits.ts'
import type { RequestScope } from '../http/request-scope.ts'
import type { Services } from '../services.ts'
import { authenticate, type Identity } from './authenticate.ts'
import { keepLastUse } from './last-use.ts'
import { secretIn, shownOf } from './token-secret.ts'
import { effectiveScopes, type Scope } from '../roles/roles.ts'
import type { Credential, Viewer } from '../roles/viewer.ts'

/** What a resolver knows of its request. The door (REST, GraphQL or a binary route) makes one per request. */
export type Context = Services & {
  request: FastifyRequest
  reply: FastifyReply
  em: EntityManager
  viewer: Viewer | null
  credential: Credential | null
  /** What the credential may do right now; empty for nobody. */
  scopes: ReadonlySet<Scope>
  /** What the request may still take; a query has one. */
  budget?: Budget
  /** What a query over GraphQL costs, once that is known, and what is left of its limit. */
  query?: { cost: number; bucket: Bucket }
  /** The client's address, behind trusted proxies. */
  ip: string
}

/** A context of somebody who signed in. */
export type SignedInContext = Context & { viewer: Viewer; credential: Credential }

/** Whether somebody known is asking. */
export const isSignedIn = (context: Context): context is SignedInContext => context.viewer !== null && context.credential !== null

const noScopes: ReadonlySet<Scope> = new Set()

/** Identifies the caller of a request that sends no token, by a key in its address; null when it has none. Throws an ApiError for a wrong key. */
export type IdentifyByKey = (services: Services, request: FastifyRequest) => Promise<Identity | null>

/** Finds out who is asking. A token decides where there is one, then the key of the endpoints that take one, then the cookie. */
export async function createContext(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  identifyByKey?: IdentifyByKey,
): Promise<Context> {
  const now = services.now()
  const byKey = identifyByKey && request.headers.authorization === undefined ? await identifyByKey(services, request) : null
  const identity = byKey ?? (await identify(services, request, now))
  if (identity) keepLastUse(services, identity, now)
  if (identity && request.scope) nameCaller(request.scope, request, identity)
  return contextOf(services, request, reply, identity)
}

/** Says in the log who is asking: of a token no more than its first characters, which lists show, too. */
function nameCaller(scope: RequestScope, { headers }: FastifyRequest, { viewer, credential }: Identity): void {
  scope.userId = viewer.id
  if (credential.kind === 'token' && headers.authorization !== undefined) scope.tokenPrefix = shownOf(secretIn(headers.authorization))
}

/** Authenticates a request again that has been going on for a while. Does not count as another use of the credential. */
export async function renewContext(services: Services, { request, reply }: Context): Promise<Context> {
  return contextOf(services, request, reply, await identify(services, request, services.now()))
}

const identify = ({ database, keys, config }: Services, request: FastifyRequest, now: Date) =>
  authenticate(request, database.reads, keys, config.SERVER_URL, now)

function contextOf(services: Services, request: FastifyRequest, reply: FastifyReply, identity: Identity | null): Context {
  return Object.assign(Object.create(baseOf(services)) as Services & OnDemand, {
    request,
    reply,
    viewer: identity?.viewer ?? null,
    credential: identity?.credential ?? null,
    scopes: identity ? effectiveScopes(identity.viewer, identity.credential) : noScopes,
    ip: request.ip,
  })
}

/** The same context as a plain object, for what copies its properties. */
export const plainContext = (services: Services, context: Context): Context => ({
  ...services,
  ...context,
  em: context.em,
})

/** Refuses a change that rides on a cookie without its CSRF token. Every door calls this before it changes anything. */
export function guardChange({ request, credential, keys }: Context): void {
  if (credential?.kind === 'session' && credential.uploadId === undefined) requireCsrf(request, keys, credential.id)
}

type OnDemand = Pick<Context, 'em'>
type Made = { database: Services['database']; madeEm?: EntityManager }

/** What every context of these services inherits: to copy ten properties for each request would take a twentieth of it. */
function baseOf(services: Services): Services & OnDemand {
  let base = bases.get(services)
  if (!base) bases.set(services, (base = Object.create(services, Object.getOwnPropertyDescriptors(onDemand)) as Services & OnDemand))
  return base
}
const bases = new WeakMap<Services, Services & OnDemand>()

/**
 * What is made when it is needed: the hottest routes never touch the ORM. These getters are shared by all contexts, because an object with
 * getters of its own gets a hidden class of its own, which would keep everything that the request holds until a full garbage collection.
 */
const onDemand: OnDemand & ThisType<Made & OnDemand> = {
  get em() {
    return (this.madeEm ??= this.database.fork())
  },
}
