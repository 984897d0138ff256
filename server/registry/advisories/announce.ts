import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { Database } from '../../platform/db/open/orm.ts'
import { Package } from '../packages/entity.ts'
import { AdvisoryPackage } from './entity.ts'

/** Marks the advisories of these packages as changed in their listings, in the transaction that changes them. Unknown names are ignored. */
export async function markAdvisoriesChanged(em: EntityManager, names: readonly string[], now: Date): Promise<void> {
  await em.flush()
  // Lock in a fixed order to avoid deadlocks.
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

/**
 * Returns the new `advisoriesUpdated` of a package after publishing a version, so that clients check whether the new version is affected. Null if the
 * package has no advisories.
 */
export const advisoriesAfterPublish = ({ advisoriesUpdated }: Subject, now: Date): Date | null =>
  advisoriesUpdated ? laterThan(advisoriesUpdated, now) : null

/** Whether advisories exist for a package that is about to be created. Call in the transaction that creates the package. */
export async function hasAdvisories(em: EntityManager, backend: Database['backend'], name: string): Promise<boolean> {
  // Serialize with imports: otherwise the import and the new package could each miss the other's uncommitted rows.
  if (backend === 'postgres') await em.execute('lock table advisory_packages in share mode')
  return (await em.count(AdvisoryPackage, { packageName: name })) > 0
}

/**
 * Returns `now`, or a later date than `before` if the clock went backwards. Clients cache advisories until the listing has a later date, so the date
 * must always increase.
 */
const laterThan = (before: Date | null | undefined, now: Date): Date => (before && before >= now ? new Date(before.getTime() + 1) : now)
