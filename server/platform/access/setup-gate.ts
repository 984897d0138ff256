import { insufficientPermissions } from '../../errors.ts'
import type { Services } from '../../services.ts'

/** Returns whether the server has an owner. A positive answer never changes, so it is cached. */
export async function isSetUp({ database }: Pick<Services, 'database'>): Promise<boolean> {
  if (done.has(database)) return true
  const owner = await database.reads.get<{ id: string }>("select id from users where role = 'owner'")
  if (owner) done.add(database)
  return owner !== undefined
}

/** Rejects all requests except those of the setup until the server has an owner. */
export function requireSetup(services: Pick<Services, 'database' | 'config'>): Promise<void> | undefined {
  return done.has(services.database) ? undefined : refuseUnlessSetUp(services)
}

async function refuseUnlessSetUp(services: Pick<Services, 'database' | 'config'>): Promise<void> {
  if (await isSetUp(services)) return
  throw insufficientPermissions(
    `Finish the setup first: open ${services.config.SERVER_URL}/setup and enter the code from the server's log.`,
  )
}

const done = new WeakSet<Services['database']>()
