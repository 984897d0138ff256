import type { EntityManager } from '@mikro-orm/sql'
import { expressionBuilder } from 'kysely'
import { conflict } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db, type Tables } from '../../platform/db/query.ts'
import { readRow, readRows } from '../../platform/db/statements.ts'
import { type Package, PackageVersion } from '../packages/entity.ts'
import { lockMarkable, marksIn } from '../packages/marks.ts'
import { newestVersions, type OfPackages } from '../packages/versions/releases.ts'
import { PackageWatch } from './entity.ts'

/** Maximum number of packages that a user can watch. */
const maxWatches = 500

/**
 * Starts or stops watching a package and returns the package. Repeating the call changes nothing.
 * @throws ApiError NotFound; Conflict if the user watches too many packages.
 */
export function setWatching({ em, viewer, now }: SignedInContext, name: string, watching: boolean): Promise<Package> {
  return em.fork().transactional(async (inner) => {
    const pkg = await lockMarkable(inner, name)
    if (watching && (await inner.count(PackageWatch, { user: viewer.id, package: { $ne: pkg.id } })) >= maxWatches)
      throw conflict(`You can watch at most ${maxWatches} packages. Stop watching others first.`)
    await watches.write(inner, { userId: viewer.id, packageId: pkg.id, at: now() }, watching)
    return pkg
  })
}

export const watches = marksIn('package_watches')

/** Returns the packages that a user watches, ordered by name. `after` is the last name of the previous page. */
export function listWatches(em: EntityManager, userId: string, limit: number, after: string | undefined): Promise<PackageWatch[]> {
  return em.find(
    PackageWatch,
    { user: userId, ...(after !== undefined && { package: { name: { $gt: after } } }) },
    { populate: ['package'], orderBy: { package: { name: 'asc' } }, limit },
  )
}

/** The packages that a user watches. */
export const watchedBy =
  (userId: string): OfPackages =>
  (p) =>
    expressionBuilder<Tables>()(p('id'), 'in', db.selectFrom('package_watches').select('package_id').where('user_id', '=', userId))

/** Returns the newest versions of the packages that a user watches, newest first, without retracted ones. `before` is an id. */
export async function listWatchedVersions(em: EntityManager, userId: string, limit: number, before?: string): Promise<PackageVersion[]> {
  const rows = await readRows(em, newestVersions(watchedBy(userId), limit, before).select('v.id'))
  const ids = rows.map(({ id }) => id)
  return em.find(PackageVersion, { id: { $in: ids } }, { orderBy: { id: 'desc' } })
}

export async function countWatchedVersions(em: EntityManager, userId: string): Promise<number> {
  const row = await readRow(
    em,
    db
      .selectFrom('package_watches as w')
      .innerJoin('package_versions as v', 'v.package_id', 'w.package_id')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('v.retracted_at', 'is', null)
      .where('w.user_id', '=', userId),
  )
  return row?.total ?? 0
}
