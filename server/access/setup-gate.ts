import { insufficientPermissions } from '../errors.ts'
import type { Services } from '../services.ts'

/** Whether the server has an owner. Once it has, it always will: the answer is kept. */
export async function isSetUp({ database }: Pick<Services, 'database'>): Promise<boolean> {
  if (done.has(database)) return true
  const owner = await database.reads.get<{ id: string }>("select id from users where role = 'owner'")
  if (owner) done.add(database)
  return owner !== undefined
}

/** Refuses everything but the setup itself until there is an owner. */
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
