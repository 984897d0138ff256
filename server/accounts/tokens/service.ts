import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { conflict } from '../../errors.ts'
import { db } from '../../platform/db/query.ts'
import { sha256 } from '../../platform/http/keys.ts'
import { lockAccount } from '../sessions/service.ts'
import { User } from '../users/entity.ts'
import type { Scope, Viewer } from '../../platform/access/roles.ts'
import { AccessToken } from './entity.ts'
import { type LimitsInput, scopesOfToken, storedLimits } from './limits.ts'
import { endOfToken } from './policy.ts'
import type { StoredLimits } from '../../platform/access/token-limits.ts'
import { newSecret, prefixOf } from '../../platform/access/token-secret.ts'
import { inOrderOfTime, newestFirst, type PageArguments, type Sort } from '../../platform/graphql/connections.ts'
import { personId } from '../users/service.ts'

export type TokenInput = LimitsInput & {
  name: string
  scopes?: readonly Scope[] | null | undefined
  expiresInDays?: number | null | undefined
}

/** The account that a token is created or rotated for, the publisher that it belongs to, and a check, with locks, of whether the caller may do this. */
export type TokenOwner = Pick<Viewer, 'id' | 'displayName' | 'role'> & {
  publisher?: string | undefined
  check?: ((em: EntityManager) => Promise<unknown>) | undefined
}

/**
 * Creates a token of the caller, or of a service account that the caller manages. Scopes are limited to the owner's role. A token created with another
 * token has at most its scopes, addresses and lifetime, and is revoked along with it. The secret is returned only here.
 * @throws ApiError as scopesOfToken, storedLimits and endOfToken do; MissingAuthentication when the session or the creating token ended concurrently; Conflict
 * when the service account was.
 */
export async function createToken(context: SignedInContext, input: TokenInput, owner: TokenOwner = context.viewer) {
  const { em, viewer, credential, config, ip, now } = context
  const scopes = scopesOfToken(context, owner.role, input.scopes, input)
  const limits = storedLimits(input, credential)
  const createdAt = now()
  const expiresAt = endOfToken(createdAt, input.expiresInDays, config, credential)
  const issue = { owner, actor: viewer, name: input.name, scopes, limits, createdAt, expiresAt, ip }
  return em.transactional(async (inner) => {
    await owner.check?.(inner)
    await lockAccount(inner, context)
    const isActive = owner === viewer || (await inner.nativeUpdate(User, { id: owner.id, isActive: true }, { isActive: true })) > 0
    if (!isActive) throw conflict(`${owner.displayName} was just disabled or deleted.`)
    const madeWith = credential.kind === 'token' ? inner.getReference(AccessToken, credential.id) : null
    return issueToken(inner, { ...issue, madeWith })
  })
}

type TokenIssue = {
  owner: { id: string; displayName: string; publisher?: string | undefined }
  /** Who creates the token; the owner by default. */
  actor?: { id: string; displayName: string }
  name: string
  scopes: readonly Scope[]
  createdAt: Date
  expiresAt: Date | null
  ip: string
  limits?: StoredLimits
  /** The token that creates the new token, if any. */
  madeWith?: AccessToken | null
}

/** Adds a token with exactly these scopes and its audit entry to the unit of work. The caller must limit the scopes and flush. */
export function issueToken(em: EntityManager, issue: TokenIssue) {
  const { owner, actor = owner, name, scopes, limits = noLimits, createdAt, expiresAt, ip, madeWith = null } = issue
  const secret = newSecret()
  const token = em.create(AccessToken, {
    user: em.getReference(User, owner.id),
    name,
    hash: sha256(secret),
    prefix: prefixOf(secret),
    scopes: scopes.join(','),
    createdAt,
    expiresAt,
    madeWith,
    ...limits,
  })
  const ofOther = actor.id === owner.id ? '' : ` of ${owner.displayName}`
  const summary = `${actor.displayName} created the token "${name}"${ofOther} (${[scopes.join(', '), ...describeLimits(limits)].join('; ')})`
  const { publisher } = owner
  audit(em, { kind: 'token.created', actor, user: owner, summary, ip, ...(publisher !== undefined && { publisher }) })
  return { token, secret }
}

const noLimits: StoredLimits = { actions: null, packages: null, addresses: null }

/** Describes limits for the audit log, whose entries are short. */
function describeLimits(limits: StoredLimits): string[] {
  const given = (['actions', 'packages', 'addresses'] as const).filter((limit) => limits[limit] !== null)
  return given.map((limit) => `${limit} ${shorten(limits[limit]?.split(',') ?? [])}`)
}

const shorten = (values: readonly string[]): string =>
  values.length <= 3 ? values.join(', ') : `${values.slice(0, 2).join(', ')} and ${values.length - 2} more`

type TokenFilter = {
  /** The owner of the tokens: an e-mail address or an id. */
  user?: string | null | undefined
  /** True for tokens that never expire; false for tokens with an expiry time. */
  neverExpires?: boolean | null | undefined
  expiresBefore?: Date | null | undefined
  /** Only tokens that expire at this time or later. */
  expiresFrom?: Date | null | undefined
  scope?: Scope | null | undefined
  /** Only tokens that have not been used since this time, or never. */
  unusedSince?: Date | null | undefined
}

export type TokenOrder = 'created' | 'expires'

const newestToken: Sort<TokenOrder> = { by: 'created', direction: 'desc' }

/** Lists tokens that are not revoked, as a connection; for their owner, or for administrators. Tokens that never expire sort after all others. */
export async function listTokens(em: EntityManager, filter: TokenFilter, page: PageArguments, { by, direction } = newestToken) {
  const where = await conditions(em, filter)
  if (by === 'created') return newestFirst(em, AccessToken, where, { ...page, direction })
  return inOrderOfTime(em, AccessToken, { by: 'expiresAt', direction }, where, page)
}

async function conditions(em: EntityManager, filter: TokenFilter): Promise<FilterQuery<AccessToken>> {
  const { user, neverExpires, expiresBefore, expiresFrom, unusedSince, scope } = filter
  const all: FilterQuery<AccessToken>[] = [{ revokedAt: null }]
  if (user) all.push({ user: await personId(em, user) })
  if (neverExpires != null) all.push({ expiresAt: neverExpires ? null : { $ne: null } })
  if (expiresBefore) all.push({ expiresAt: { $lt: expiresBefore } })
  if (expiresFrom) all.push({ expiresAt: { $gte: expiresFrom } })
  // A substring match is unambiguous: no scope name contains another.
  if (scope) all.push({ scopes: { $like: `%${scope}%` } })
  if (unusedSince) all.push({ createdAt: { $lt: unusedSince }, $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: unusedSince } }] })
  return { $and: all }
}

/** Counts the tokens that never expire, by the kind of their owners. */
export const countEndlessTokens = () =>
  db
    .selectFrom('access_tokens as t')
    .innerJoin('users as u', 'u.id', 't.user_id')
    .select(({ fn }) => ['u.kind', fn.countAll<number>().as('total')])
    .where('t.revoked_at', 'is', null)
    .where('t.expires_at', 'is', null)
    .groupBy('u.kind')
