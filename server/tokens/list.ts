import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { isMomentKey, momentKey, newestFirst, type PageArguments, pageByKey, readMomentKey } from '../graphql/connections.ts'
import { personId } from '../users/person-id.ts'
import { type Scope } from '../roles/roles.ts'
import { AccessToken } from './entity.ts'

export type TokenFilter = {
  /** Whose: an e-mail address or an id. */
  user?: string | null | undefined
  /** Only tokens without an end, or only such with one. */
  neverExpires?: boolean | null | undefined
  expiresBefore?: Date | null | undefined
  /** At this moment or later. */
  expiresFrom?: Date | null | undefined
  scope?: Scope | null | undefined
  /** Not used since this moment, or never. */
  unusedSince?: Date | null | undefined
}

export type TokenOrder = 'created' | 'expires'

/** Tokens that are not revoked, as a connection; the same for their owner and, of everybody, for administrators. */
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

/** Those without an end come last. */
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
  // No scope is a part of another one's name.
  if (scope) all.push({ scopes: { $like: `%${scope}%` } })
  if (unusedSince) all.push({ createdAt: { $lt: unusedSince }, $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: unusedSince } }] })
  return { $and: all }
}
