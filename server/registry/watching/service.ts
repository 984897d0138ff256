import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { expressionBuilder } from 'kysely'
import { conflict } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { db, type Tables } from '../../platform/db/query.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { findPairs } from '../likes/service.ts'
import { Package, PackageVersion } from '../packages/entity.ts'
import { unknownPackage } from '../packages/parameters.ts'
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
    // Lock the package before the row, in the same order as package deletion does, to avoid deadlocks.
    const pkg = await inner.findOne(Package, { name }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (!pkg) throw unknownPackage(name)
    if (!watching) {
      await inner.nativeDelete(PackageWatch, { user: viewer.id, package: pkg.id })
      return pkg
    }
    if ((await inner.count(PackageWatch, { user: viewer.id, package: { $ne: pkg.id } })) >= maxWatches)
      throw conflict(`You can watch at most ${maxWatches} packages. Stop watching others first.`)
    const row = { user_id: viewer.id, package_id: pkg.id, created_at: now() }
    await changeRows(
      inner,
      db
        .insertInto('package_watches')
        .values(row)
        .onConflict((known) => known.doNothing()),
    )
    return pkg
  })
}

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

/** Loads whether a user watches a package, by `<package id> <user id>`. */
export const loadWatching = batched((em, keys) => findPairs(em, 'package_watches', keys))
