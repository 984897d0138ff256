import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { isMomentKey, momentKey, newestFirst, type PageArguments, pageByKey, readMomentKey } from '../../platform/graphql/connections.ts'
import { personId } from '../users/person-id.ts'
import type { Scope } from '../../platform/access/roles.ts'
import { AccessToken } from './entity.ts'

export type TokenFilter = {
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

/** Lists tokens that are not revoked, as a connection; for their owner, or for administrators. */
export async function listTokens(em: EntityManager, filter: TokenFilter, page: PageArguments, order: TokenOrder = 'created') {
  const where = await conditions(em, filter)
  if (order === 'created') return newestFirst(em, AccessToken, where, page)
  const orderBy = { expiresAt: 'asc nulls last', id: 'desc' } as const
  return pageByKey(page, {
    keyOf: ({ expiresAt, id }: AccessToken) => momentKey(expiresAt, id),
    isKey: isMomentKey,
    count: () => em.count(AccessToken, where),
    load: (limit, key) => em.find(AccessToken, { $and: [where, key === undefined ? {} : endingAfter(key)] }, { orderBy, limit }),
  })
}

/** Returns the condition for the tokens after a cursor. Tokens that never expire are sorted last. */
function endingAfter(key: string): FilterQuery<AccessToken> {
  const { moment, id } = readMomentKey(key)
  if (moment === null) return { expiresAt: null, id: { $lt: id } }
  return { $or: [{ expiresAt: { $gt: moment } }, { expiresAt: moment, id: { $lt: id } }, { expiresAt: null }] }
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
