import { isRefusedForMove } from '../db/unavailable.ts'
import type { Services } from '../../services.ts'
import type { Identity } from './authenticate.ts'

const interval = 60_000
const maxAtOnce = 2
let underWay = 0

/** Records the last use of a token or session, at most once a minute. Does not delay the request. A failed write is retried at the next use. */
export function recordLastUse({ database, log }: Services, { credential, lastUsedAt }: Identity, now: Date): void {
  if (now.getTime() - lastUsedAt.getTime() < interval) return
  if ((writing.get(credential.id) ?? 0) > now.getTime() - interval) return
  // Limits concurrent writes, so that slow ones cannot take the connections that requests need.
  if (underWay >= maxAtOnce) return
  if (writing.size > 10_000) writing.clear()
  writing.set(credential.id, now.getTime())
  const table = credential.kind === 'token' ? 'access_tokens' : 'sessions'
  const moment = database.backend === 'sqlite' ? now.getTime() : now
  underWay++
  database.orm.em
    .getConnection()
    .execute(`update ${table} set last_used_at = ? where id = ? and (last_used_at is null or last_used_at < ?)`, [
      moment,
      credential.id,
      moment,
    ])
    .catch((error: unknown) => {
      writing.delete(credential.id)
      if (!isRefusedForMove(error)) log.warning(`last use of ${table} not written: ${String(error)}`)
    })
    .finally(() => underWay--)
}

// Time of the last write by credential id, so that concurrent requests do not repeat it.
const writing = new Map<string, number>()
