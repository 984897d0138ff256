import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { pageByKey } from '../connections.ts'
import { AccessToken } from './entity.ts'

export type TokenFilter = {
  userId?: string | undefined
  /** Only tokens without an end, or only such with one. */
  neverExpires?: boolean | null | undefined
  expiresBefore?: Date | null | undefined
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

function conditions({ userId, neverExpires, expiresBefore, unusedSince }: TokenFilter): FilterQuery<AccessToken> {
  const all: FilterQuery<AccessToken>[] = [{ revokedAt: null }]
  if (userId) all.push({ user: userId })
  if (neverExpires != null) all.push({ expiresAt: neverExpires ? null : { $ne: null } })
  if (expiresBefore) all.push({ expiresAt: { $lt: expiresBefore } })
  if (unusedSince) all.push({ createdAt: { $lt: unusedSince }, $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: unusedSince } }] })
  return { $and: all }
}
