import type { EntityManager } from '@mikro-orm/sql'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Budget } from './budget.ts'
import { insufficientPermissions } from '../../errors.ts'
import { requireCsrf } from '../http/cookies.ts'
import type { Bucket } from '../http/limits.ts'
import { basePath } from '../http/public-url.ts'
import type { RequestScope } from '../http/request-scope.ts'
import type { Services } from '../../services.ts'
import { authenticate, type Identity } from './authenticate.ts'
import { requireNarrowedRoute } from './narrowed.ts'
import { containAddress } from './token-limits.ts'
import { bearerPrefix } from './token-secret.ts'
import { effectiveScopes, type Scope, type Credential, type Viewer } from './roles.ts'
import { db } from '../db/query.ts'
import { changeRows } from '../db/statements.ts'
import { isRejectedForMove } from '../db/unavailable.ts'

declare module '../../services.ts' {
  interface State {
    /** `written`: time of the last write by credential id, so that concurrent requests do not repeat it. `writes`: number of writes in progress. */
    lastUses?: { written: Map<string, number>; writes: number }
  }
}

/** The context of a request for resolvers and routes. REST, GraphQL and binary routes create one per request. */
export type Context = Services & {
  request: FastifyRequest
  reply: FastifyReply
  em: EntityManager
  viewer: Viewer | null
  credential: Credential | null
  /** Current permissions of the credential; empty for anonymous callers. */
  scopes: ReadonlySet<Scope>
  /** Remaining resource limits of the request. Only queries have limits. */
  budget?: Budget
  /** Cost of a GraphQL query once it is known, and the state of its rate limit. */
  query?: { cost: number; bucket: Bucket }
  /** IP address of the client, as seen through trusted proxies. */
  ip: string
}

/** The context of a signed-in caller. */
export type SignedInContext = Context & { viewer: Viewer; credential: Credential }

/** Returns whether the caller is signed in. */
export const isSignedIn = (context: Context): context is SignedInContext => context.viewer !== null && context.credential !== null

const noScopes: ReadonlySet<Scope> = new Set()

/** Identifies the caller by a key in the URL if the request has no token; null if the URL has no key. @throws ApiError for a wrong key. */
export type IdentifyByKey = (services: Services, request: FastifyRequest) => Promise<Identity | null>

/** Creates the context. The caller is identified by a token, or else by a key in the URL if the endpoint supports one, or else by the cookie. */
export async function createContext(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  identifyByKey?: IdentifyByKey,
): Promise<Context> {
  const now = services.now()
  const byKey = identifyByKey && request.headers.authorization === undefined ? await identifyByKey(services, request) : null
  const identity = byKey ?? (await identify(services, request, now))
  if (identity && request.scope) logCaller(request.scope, request, identity)
  const context = contextOf(services, request, reply, identity)
  if (identity) recordLastUse(services, identity, now)
  return context
}

/** Adds the caller to the log scope. Of a token only the first characters are logged, which lists also show. */
function logCaller(scope: RequestScope, { headers }: FastifyRequest, { viewer, credential }: Identity): void {
  scope.userId = viewer.id
  if (credential.kind === 'token' && headers.authorization !== undefined) scope.tokenPrefix = bearerPrefix(headers.authorization)
}

/** Authenticates a long-running request again. Does not count as another use of the credential. */
export async function renewContext(services: Services, { request, reply }: Context): Promise<Context> {
  return contextOf(services, request, reply, await identify(services, request, services.now()))
}

const identify = (services: Services, request: FastifyRequest, now: Date) => authenticate(request, services, now)

function contextOf(services: Services, request: FastifyRequest, reply: FastifyReply, identity: Identity | null): Context {
  if (identity) requireAllowedUse(services, request, identity.credential)
  return Object.assign(Object.create(baseOf(services)) as Services & OnDemand, {
    request,
    reply,
    viewer: identity?.viewer ?? null,
    credential: identity?.credential ?? null,
    scopes: identity ? effectiveScopes(identity.viewer, identity.credential) : noScopes,
    ip: request.ip,
  })
}

/** Rejects a request that the limits of the credential exclude. @throws ApiError InsufficientPermissions. */
function requireAllowedUse({ config }: Services, request: FastifyRequest, { addresses, narrowing }: Credential): void {
  // Not 401: package clients delete a token that is answered with it.
  if (addresses && !containAddress(addresses, request.ip))
    throw insufficientPermissions(`This access token does not work from the address ${request.ip}.`)
  if (narrowing) requireNarrowedRoute(narrowing, request, basePath(config.SERVER_URL))
}

/** Returns the context as a plain object, for code that copies its properties. */
export const plainContext = (services: Services, context: Context): Context => ({
  ...services,
  ...context,
  em: context.em,
})

/** Rejects a change authenticated by a cookie without the CSRF token. Every API calls this before making a change. */
export function guardChange({ request, credential, keys }: Context): void {
  if (credential?.kind === 'session' && credential.uploadId === undefined) requireCsrf(request, keys, credential.id)
}

type OnDemand = Pick<Context, 'em'>
type Made = { database: Services['database']; madeEm?: EntityManager }

/** Returns the prototype shared by the contexts of these services. Copying ten properties per request would take 5% of its time. */
function baseOf(services: Services): Services & OnDemand {
  let base = bases.get(services)
  if (!base) bases.set(services, (base = Object.create(services, Object.getOwnPropertyDescriptors(onDemand)) as Services & OnDemand))
  return base
}
/** By services, because each prototype is derived from one: a modified copy of the services needs its own. */
const bases = new WeakMap<Services, Services & OnDemand>()

/**
 * Properties that are created on first use. The getters are on a shared prototype: an object with its own getters gets its own hidden class in V8,
 * which would keep the memory of the request until a full garbage collection.
 */
const onDemand: OnDemand & ThisType<Made & OnDemand> = {
  get em() {
    return (this.madeEm ??= this.database.fork())
  },
}

const lastUseMs = 60_000
const maxWrites = 2

/** Records the last use of a token or session, at most once a minute. Does not delay the request. A failed write is retried at the next use. */
function recordLastUse({ database, log, state }: Services, { credential, lastUsedAt }: Identity, now: Date): void {
  if (now.getTime() - lastUsedAt.getTime() < lastUseMs) return
  const lastUses = (state.lastUses ??= { written: new Map<string, number>(), writes: 0 })
  const { written } = lastUses
  if ((written.get(credential.id) ?? 0) > now.getTime() - lastUseMs) return
  // Limits concurrent writes, so that slow ones cannot take the connections that requests need.
  if (lastUses.writes >= maxWrites) return
  if (written.size > 10_000) written.clear()
  written.set(credential.id, now.getTime())
  const table = credential.kind === 'token' ? 'access_tokens' : 'sessions'
  const use = db
    .updateTable(table)
    .set({ last_used_at: now })
    .where('id', '=', credential.id)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', now)]))
  lastUses.writes++
  changeRows(database.fork(), use)
    .catch((error: unknown) => {
      written.delete(credential.id)
      if (!isRejectedForMove(error)) log.warning(`last use of ${table} not written: ${String(error)}`)
    })
    .finally(() => lastUses.writes--)
}
