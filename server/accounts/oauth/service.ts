import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { idOf, newId } from '../../platform/db/base.ts'
import { notFound } from '../../errors.ts'
import { randomText, sha256 } from '../../platform/http/keys.ts'
import { Session } from '../sessions/entity.ts'
import { lockAccount } from '../sessions/service.ts'
import type { Scope } from '../../platform/access/roles.ts'
import { grantableScopes, needsProof } from '../tokens/policy.ts'
import { User } from '../users/entity.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { AuthorizationRequest, DeviceRequest } from './entity.ts'
import { clientId, type RequestedAuthorization, withParameters } from './parameters.ts'
import type { Services } from '../../services.ts'

const pendingMs = 10 * 60_000
const codeMs = 60_000

/**
 * Stores an authorization request for the caller to answer within 10 minutes, bound to the caller's session.
 * @returns its id.
 */
export async function requestAuthorization(context: SignedInContext, requested: RequestedAuthorization): Promise<string> {
  const { em, viewer, credential } = context
  const createdAt = context.now()
  const { id } = em.create(AuthorizationRequest, {
    ...requested,
    id: newId(),
    user: em.getReference(User, viewer.id),
    session: em.getReference(Session, credential.id),
    clientId,
    scopes: grantableScopes(requested.scopes, viewer.role).join(','),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + pendingMs),
  })
  await em.flush()
  return id
}

/**
 * Returns a pending authorization request of the caller.
 * @throws ApiError NotFound when it belongs to another user or session, has expired, or was already answered.
 */
export const findPending = async (context: SignedInContext, requestId: string): Promise<PendingAuthorization> =>
  describe(await load(context, requestId), context)

/**
 * Approves the request: creates a single-use code that is valid for 60 seconds.
 * @returns the URL to redirect the browser to.
 * @throws ApiError NotFound, as for `findPending`; InsufficientPermissions for the scope admin in a session without a recent password confirmation.
 */
export async function approveAuthorization(context: SignedInContext, requestId: string): Promise<string> {
  const { em, viewer, ip, now } = context
  const request = await load(context, requestId)
  const { scopes } = describe(request, context)
  if (needsProof(scopes)) requireRecentProof(context)
  const code = randomText(32)
  const approved = await em.transactional(async (inner) => {
    await lockAccount(inner, context)
    const codeExpiresAt = new Date(now().getTime() + codeMs)
    const changed = await inner.nativeUpdate(AuthorizationRequest, pending(context, requestId), { codeHash: sha256(code), codeExpiresAt })
    const summary = `${viewer.displayName} authorized a command-line client (${scopes.join(', ')})`
    if (changed) audit(inner, { kind: 'oauth.approved', actor: viewer, user: viewer, summary, ip })
    return changed > 0
  })
  if (!approved) throw gone()
  return withParameters(request.redirectUri, { code, state: request.state || undefined })
}

/**
 * Denies the request.
 * @returns the URL to redirect the browser to.
 * @throws ApiError NotFound, as for `findPending`.
 */
export async function denyAuthorization(context: SignedInContext, requestId: string): Promise<string> {
  const request = await load(context, requestId)
  const denied = await context.em.nativeDelete(AuthorizationRequest, pending(context, requestId))
  if (!denied) throw gone()
  return withParameters(request.redirectUri, {
    error: 'access_denied',
    error_description: 'The user denied the request.',
    state: request.state || undefined,
  })
}

/** Returns the condition for a pending request of this session. Reads and answers share it, so concurrent answers cannot both succeed. */
const pending = ({ viewer, credential, now }: SignedInContext, id: string) => ({
  id,
  user: viewer.id,
  session: credential.id,
  codeHash: null,
  expiresAt: { $gt: now() },
})

async function load(context: SignedInContext, requestId: string): Promise<AuthorizationRequest> {
  const id = idOf(requestId)
  const request = id && (await context.em.findOne(AuthorizationRequest, pending(context, id)))
  if (!request) throw gone()
  return request
}

const gone = () =>
  notFound(
    'Authorization request not found: it was answered, is older than 10 minutes, or belongs to another session. Start again from the command line.',
  )

/** A pending authorization request. `scopes` are the requested scopes that the user can currently grant. */
export type PendingAuthorization = ReturnType<typeof describe>

function describe(
  { id: requestId, clientId, redirectUri, scopes, createdAt, expiresAt }: AuthorizationRequest,
  { viewer }: SignedInContext,
) {
  return { requestId, clientId, redirectUri, scopes: grantableScopes(scopes.split(',') as Scope[], viewer.role), createdAt, expiresAt }
}

const dayMs = 86_400_000

/**
 * Deletes requests one day after they expire. A request whose code was exchanged is kept for the lifetime of the token, so that a replayed code is
 * still detected.
 * @returns the number of deleted requests.
 */
export async function collectAuthorizations({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> {
  const moment = now()
  const ago = (ms: number) => new Date(moment.getTime() - ms)
  const old = { $or: [{ token: null, expiresAt: { $lt: ago(dayMs) } }, { expiresAt: { $lt: ago(91 * dayMs) } }] }
  const em = database.fork()
  return (await em.nativeDelete(AuthorizationRequest, old)) + (await em.nativeDelete(DeviceRequest, old))
}
