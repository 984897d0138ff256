import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { Database } from '../db/open/orm.ts'
import { Package } from '../packages/entity.ts'
import { AdvisoryPackage } from './entity.ts'

/** Lets the listings of these packages say that their advisories changed, in the transaction that changes them. Unknown names do not matter. */
export async function announceAdvisories(em: EntityManager, names: readonly string[], now: Date): Promise<void> {
  await em.flush()
  // Locked in one order, so that nobody waits for each other in a circle.
  const packages = await em.find(
    Package,
    { name: { $in: names.toSorted() } },
    { orderBy: { name: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  )
  for (const pkg of packages) {
    pkg.advisoriesUpdated = laterThan(pkg.advisoriesUpdated, now)
    pkg.revision += 1
  }
  await em.flush()
}

type Subject = { name: string; advisoriesUpdated?: Date | null | undefined }

/** When the advisories of a package count as changed that gets another version: whoever asks again learns whether that one is affected. Null for none. */
export const advisoriesAfterPublish = ({ advisoriesUpdated }: Subject, now: Date): Date | null =>
  advisoriesUpdated ? laterThan(advisoriesUpdated, now) : null

/** Whether there were advisories for a package before the package. Asked in the transaction that makes it. */
export async function hasAdvisories(em: EntityManager, backend: Database['backend'], name: string): Promise<boolean> {
  // An import under way is waited for, and the next one waits: otherwise each could miss what the other has not committed yet.
  if (backend === 'postgres') await em.execute('lock table advisory_packages in share mode')
  return (await em.count(AdvisoryPackage, { packageName: name })) > 0
}

/** Clients keep advisories until the listing has a later date, so it never goes back, whatever the clock does. */
const laterThan = (before: Date | null | undefined, now: Date): Date => (before && before >= now ? new Date(before.getTime() + 1) : now)
