import { sql } from 'kysely'
import { insufficientPermissions } from '../../errors.ts'
import { db } from '../db/query.ts'
import type { Services } from '../../services.ts'

declare module '../../services.ts' {
  interface State {
    isSetUp?: true
  }
}

/** Returns whether the server has an owner. A positive answer never changes, so it is cached. */
export async function isSetUp({ database, state }: Pick<Services, 'database' | 'state'>): Promise<boolean> {
  if (state.isSetUp) return true
  // A literal, for the index of the only owner.
  const owner = await database.reads.get(db.selectFrom('users').select('id').where('role', '=', sql.lit('owner')))
  if (owner) state.isSetUp = true
  return owner !== undefined
}

type Gated = Pick<Services, 'database' | 'config' | 'state'>

/** Rejects all requests except those of the setup until the server has an owner. */
export const requireSetup = (services: Gated): Promise<void> | undefined =>
  services.state.isSetUp ? undefined : rejectUnlessSetUp(services)

async function rejectUnlessSetUp(services: Gated): Promise<void> {
  if (await isSetUp(services)) return
  throw insufficientPermissions(
    `Finish the setup first: open ${services.config.SERVER_URL}/setup and enter the code from the server's log.`,
  )
}
