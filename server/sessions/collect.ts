import { OauthRequest } from '../oauth/entity.ts'
import type { Services } from '../services.ts'
import { sessionIdleMs } from './authenticate.ts'
import { Session } from './entity.ts'
import { collectOrigins } from './origin.ts'

const dayMs = 86_400_000

/**
 * Removes sessions that have ended, the places that nobody has signed in from for a year, expired rate limits, and authorizations a day after
 * they could be answered. One that became a token stays for as long as that token may live, so that its code is still known when somebody
 * tries it again.
 */
export async function collectExpired({
  database,
  limits,
  now,
}: Pick<Services, 'database' | 'limits' | 'now'>): Promise<{ sessions: number; authorizations: number }> {
  const em = database.fork()
  const moment = now()
  const ago = (ms: number) => new Date(moment.getTime() - ms)
  const sessions = await em.nativeDelete(Session, { $or: [{ expiresAt: { $lte: moment } }, { lastUsedAt: { $lte: ago(sessionIdleMs) } }] })
  const authorizations = await em.nativeDelete(OauthRequest, {
    $or: [{ token: null, expiresAt: { $lt: ago(dayMs) } }, { expiresAt: { $lt: ago(91 * dayMs) } }],
  })
  await collectOrigins(em, moment)
  await limits.collect()
  return { sessions, authorizations }
}
