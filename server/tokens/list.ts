import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { pageByKey } from '../connections.ts'
import { AccessToken, type Scope } from './entity.ts'

export type TokenFilter = {
  userId?: string | undefined
  /** Only tokens without an end, or only such with one. */
  neverExpires?: boolean | null | undefined
  expiresBefore?: Date | null | undefined
  /** At this moment or later. */
  expiresFrom?: Date | null | undefined
  scope?: Scope | null | undefined
  /** Not used since this moment, or never. */
  unusedSince?: Date | null | undefined
}

/** Tokens that are not revoked, newest first, as a connection; the same for their owner and, of everybody, for administrators. */
export function listTokens(em: EntityManager, filter: TokenFilter, page: Parameters<typeof pageByKey>[0]) {
  const where = conditions(filter)
  return pageByKey(page, {
    keyOf: (token: AccessToken) => token.id,
    load: (limit, after) =>
      em.find(AccessToken, { $and: [where, after === undefined ? {} : { id: { $lt: after } }] }, { orderBy: { id: 'desc' }, limit }),
    count: () => em.count(AccessToken, where),
  })
}

function conditions({ userId, neverExpires, expiresBefore, expiresFrom, unusedSince, scope }: TokenFilter): FilterQuery<AccessToken> {
  const all: FilterQuery<AccessToken>[] = [{ revokedAt: null }]
  if (userId) all.push({ user: userId })
  if (neverExpires != null) all.push({ expiresAt: neverExpires ? null : { $ne: null } })
  if (expiresBefore) all.push({ expiresAt: { $lt: expiresBefore } })
  if (expiresFrom) all.push({ expiresAt: { $gte: expiresFrom } })
  // No scope is a part of another one's name.
  if (scope) all.push({ scopes: { $like: `%${scope}%` } })
  if (unusedSince) all.push({ createdAt: { $lt: unusedSince }, $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: unusedSince } }] })
  return { $and: all }
}
