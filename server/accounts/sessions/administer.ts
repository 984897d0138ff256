import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import { isMomentKey, momentKey, newestFirst, type PageArguments, pageByKey, readMomentKey } from '../../platform/graphql/connections.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { notFound } from '../../errors.ts'
import { editable } from '../users/editable.ts'
import { personId } from '../users/person-id.ts'
import { Session } from './entity.ts'
import { revokeSessions, sessionIsLive } from './service.ts'

export type SessionFilter = {
  /** The owner of the sessions: an e-mail address or an id. */
  user?: string | null | undefined
  clientIp?: string | null | undefined
  /** Only sessions that have not been used since this time. */
  unusedSince?: Date | null | undefined
}
export type SessionOrder = 'created' | 'lastUsed'

/** Lists the sessions of all users that are active at `now`, as a connection; for administrators. */
export async function listAllSessions(em: EntityManager, filter: SessionFilter, order: SessionOrder, page: PageArguments & { now: Date }) {
  const where = await conditions(em, filter, page.now)
  if (order === 'created') return newestFirst(em, Session, where, page)
  const orderBy = { lastUsedAt: 'desc', id: 'desc' } as const
  return pageByKey(page, {
    keyOf: ({ lastUsedAt, id }: Session) => momentKey(lastUsedAt, id),
    isKey: isMomentKey,
    count: () => em.count(Session, where),
    load: (limit, key) => em.find(Session, { $and: [where, key === undefined ? {} : usedBefore(key)] }, { orderBy, limit }),
  })
}

function usedBefore(key: string): FilterQuery<Session> {
  const { moment, id } = readMomentKey(key)
  return { $or: [{ lastUsedAt: { $lt: moment } }, { lastUsedAt: moment, id: { $lt: id } }] }
}

async function conditions(em: EntityManager, { user, clientIp, unusedSince }: SessionFilter, now: Date): Promise<FilterQuery<Session>> {
  const all: FilterQuery<Session>[] = [sessionIsLive(now)]
  if (user) all.push({ user: await personId(em, user) })
  if (clientIp) all.push({ clientIp })
  if (unusedSince) all.push({ lastUsedAt: { $lt: unusedSince } })
  return { $and: all }
}

/**
 * Ends a session of any user immediately, for administrators.
 * @throws ApiError NotFound for an unknown or ended session; InsufficientPermissions for sessions of the owner.
 */
export async function revokeUserSession({ em, viewer, ip, now }: SignedInContext, id: string): Promise<Session> {
  const session = await em.findOne(Session, { ...sessionIsLive(now()), id })
  const ended =
    session !== null &&
    (await em.transactional(async (inner) => {
      const user = await editable(inner, session.user.id)
      const won = (await inner.nativeDelete(Session, { id })) > 0
      const summary = `${viewer.displayName} ended a session of ${user.displayName}`
      if (won) audit(inner, { kind: 'session.revoked', actor: viewer, user, summary, ip })
      return won
    }))
  if (!ended) throw notFound('There is no session with this id.')
  return session
}

/**
 * Ends all sessions of a user immediately, for administrators.
 * @returns the number of ended sessions.
 * @throws ApiError NotFound; InsufficientPermissions for sessions of the owner.
 */
export async function revokeUserSessions({ em, viewer, ip }: SignedInContext, userId: string): Promise<number> {
  return em.transactional(async (inner) => {
    const user = await editable(inner, userId)
    const ended = await revokeSessions(inner, userId)
    const summary = `${viewer.displayName} ended ${ended} ${ended === 1 ? 'session' : 'sessions'} of ${user.displayName}`
    if (ended) audit(inner, { kind: 'session.revoked', actor: viewer, user, summary, ip })
    return ended
  })
}
