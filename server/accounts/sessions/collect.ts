import { sessionIdleMs } from '../../platform/access/authenticate.ts'
import type { Services } from '../../services.ts'
import { Session } from './entity.ts'
import { collectOrigins } from './origin.ts'

/**
 * Deletes ended sessions, and the origins of sign-ins that have not been used for a year.
 * @returns the number of deleted sessions.
 */
export async function collectSessions({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> {
  const em = database.fork()
  const moment = now()
  const idleSince = new Date(moment.getTime() - sessionIdleMs)
  const ended = await em.nativeDelete(Session, { $or: [{ expiresAt: { $lte: moment } }, { lastUsedAt: { $lte: idleSince } }] })
  await collectOrigins(em, moment)
  return ended
}
