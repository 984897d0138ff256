import type { Services } from '../../services.ts'
import { AuthorizationRequest } from './entity.ts'

const dayMs = 86_400_000

/**
 * Deletes authorization requests one day after they expire. A request whose code was exchanged is kept for the lifetime of the token, so that a
 * replayed code is still detected.
 * @returns the number of deleted requests.
 */
export function collectAuthorizations({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> {
  const moment = now()
  const ago = (ms: number) => new Date(moment.getTime() - ms)
  return database.fork().nativeDelete(AuthorizationRequest, {
    $or: [{ token: null, expiresAt: { $lt: ago(dayMs) } }, { expiresAt: { $lt: ago(91 * dayMs) } }],
  })
}
