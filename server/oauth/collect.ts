import type { Services } from '../services.ts'
import { AuthorizationRequest } from './entity.ts'

const dayMs = 86_400_000

/**
 * Removes authorization requests a day after they could be answered. One that became a token stays for as long as that token may live, so
 * that its code is still known when somebody tries it again.
 * @returns how many were removed.
 */
export function collectAuthorizations({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> {
  const moment = now()
  const ago = (ms: number) => new Date(moment.getTime() - ms)
  return database.fork().nativeDelete(AuthorizationRequest, {
    $or: [{ token: null, expiresAt: { $lt: ago(dayMs) } }, { expiresAt: { $lt: ago(91 * dayMs) } }],
  })
}
