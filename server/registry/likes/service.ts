import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { readRows } from '../../platform/db/statements.ts'
import { Package } from '../packages/entity.ts'
import { unknownPackage } from '../packages/parameters.ts'
import { PackageLike } from './entity.ts'

/**
 * Adds or removes the caller's like of a package and returns the package. Repeating the call changes nothing.
 * @throws ApiError NotFound.
 */
export function setLike({ em, viewer, now, database }: SignedInContext, name: string, liked: boolean): Promise<Package> {
  return em.fork().transactional(async (inner) => {
    // Lock the package before the like, in the same order as package deletion does, to avoid deadlocks.
    const pkg = await inner.findOne(Package, { name }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (!pkg) throw unknownPackage(name)
    const moment = database.backend === 'sqlite' ? now().getTime() : now()
    const changed = await inner.execute<object[]>(liked ? insertLike : deleteLike, [viewer.id, pkg.id, ...(liked ? [moment] : [])])
    // If no row changed, a concurrent request has already updated the count.
    if (changed.length > 0) {
      await inner.execute('update package_search_documents set likes = likes + ? where package_id = ?', [liked ? 1 : -1, pkg.id])
    }
    return pkg
  })
}

/** Subtracts a user's likes from the counts in the search index. Call before deleting the account, in the same transaction. */
export async function subtractLikes(em: EntityManager, userId: string): Promise<void> {
  await em.execute(
    'update package_search_documents set likes = likes - 1 where package_id in (select package_id from package_likes where user_id = ?)',
    [userId],
  )
}

/** Recomputes the like counts in the search index. */
export async function recountLikes(em: EntityManager, packageIds: string[]): Promise<void> {
  for (const id of packageIds) {
    await em.execute(
      'update package_search_documents set likes = (select count(*) from package_likes l where l.package_id = package_search_documents.package_id) where package_id = ?',
      [id],
    )
  }
}

/** Returns a user's likes, ordered by package name. `after` is the last name of the previous page. */
export function listLikes(em: EntityManager, userId: string, limit: number, after: string | undefined): Promise<PackageLike[]> {
  return em.find(
    PackageLike,
    { user: userId, ...(after !== undefined && { package: { name: { $gt: after } } }) },
    { populate: ['package'], orderBy: { package: { name: 'asc' } }, limit },
  )
}

export const countLikesOf = (em: EntityManager, userId: string): Promise<number> => em.count(PackageLike, { user: userId })

/** Loads the number of likes by package id. */
export const loadLikeCount = batched(async (em, packageIds) => {
  const rows = await em.execute<{ id: string; likes: number | string }[]>(
    `select package_id as id, count(*) as likes from package_likes where package_id in (${packageIds.map(() => '?').join(', ')}) group by package_id`,
    packageIds,
  )
  return new Map(rows.map(({ id, likes }) => [id, Number(likes)]))
})

/** Loads whether a user likes a package, by `<package id> <user id>`. */
export const loadLiked = batched((em, keys) => findPairs(em, 'package_likes', keys))

/** Returns which of the pairs `<package id> <user id>` a table has. */
export async function findPairs(em: EntityManager, table: 'package_likes' | 'package_watches', keys: string[]): Promise<Map<string, true>> {
  const ofUsers = Map.groupBy(keys, (key) => key.split(' ')[1] ?? '')
  const found = new Map<string, true>()
  for (const [user, pairs] of ofUsers) {
    const marks = pairs.map(() => '?').join(', ')
    const rows = await readRows<{ package_id: string }>(
      em,
      `select package_id from ${table} where user_id = ? and package_id in (${marks})`,
      [user, ...pairs.map((pair) => pair.split(' ')[0] ?? '')],
    )
    for (const row of rows) found.set(`${row.package_id} ${user}`, true)
  }
  return found
}

const insertLike = `insert into package_likes (user_id, package_id, created_at) values (?, ?, ?)
  on conflict (user_id, package_id) do nothing returning package_id`

const deleteLike = 'delete from package_likes where user_id = ? and package_id = ? returning package_id'
