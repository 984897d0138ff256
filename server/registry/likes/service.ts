import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRows } from '../../platform/db/statements.ts'
import { Package } from '../packages/entity.ts'
import { unknownPackage } from '../packages/parameters.ts'
import { PackageLike } from './entity.ts'

/**
 * Adds or removes the caller's like of a package and returns the package. Repeating the call changes nothing.
 * @throws ApiError NotFound.
 */
export function setLike({ em, viewer, now }: SignedInContext, name: string, liked: boolean): Promise<Package> {
  return em.fork().transactional(async (inner) => {
    // Lock the package before the like, in the same order as package deletion does, to avoid deadlocks.
    const pkg = await inner.findOne(Package, { name }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (!pkg) throw unknownPackage(name)
    const like = { user_id: viewer.id, package_id: pkg.id, created_at: now() }
    const changed = await changeRows(
      inner,
      liked
        ? db
            .insertInto('package_likes')
            .values(like)
            .onConflict((known) => known.doNothing())
        : db.deleteFrom('package_likes').where('user_id', '=', viewer.id).where('package_id', '=', pkg.id),
    )
    // If no row changed, a concurrent request has already updated the count.
    if (changed > 0) await changeRows(inner, addLikes(liked ? 1 : -1).where('package_id', '=', pkg.id))
    return pkg
  })
}

/** Subtracts a user's likes from the counts in the search index. Call before deleting the account, in the same transaction. */
export async function subtractLikes(em: EntityManager, userId: string): Promise<void> {
  const liked = db.selectFrom('package_likes').select('package_id').where('user_id', '=', userId)
  await changeRows(em, addLikes(-1).where('package_id', 'in', liked))
}

const addLikes = (likes: number) => db.updateTable('package_search_documents').set((eb) => ({ likes: eb('likes', '+', likes) }))

/** Recomputes the like counts in the search index. */
export async function recountLikes(em: EntityManager, packageIds: string[]): Promise<void> {
  for (const id of packageIds) {
    const recount = db.updateTable('package_search_documents').set((eb) => ({
      likes: eb
        .selectFrom('package_likes as l')
        .select(eb.fn.countAll<number>().as('likes'))
        .whereRef('l.package_id', '=', 'package_search_documents.package_id'),
    }))
    await changeRows(em, recount.where('package_id', '=', id))
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
  const counts = db
    .selectFrom('package_likes')
    .select(({ fn }) => ['package_id', fn.countAll<number>().as('likes')])
    .where('package_id', 'in', packageIds)
    .groupBy('package_id')
  return new Map((await readRows(em, counts)).map(({ package_id: id, likes }) => [id, likes]))
})

/** Loads whether a user likes a package, by `<package id> <user id>`. */
export const loadLiked = batched((em, keys) => findPairs(em, 'package_likes', keys))

/** Returns which of the pairs `<package id> <user id>` a table has. */
export async function findPairs(em: EntityManager, table: 'package_likes' | 'package_watches', keys: string[]): Promise<Map<string, true>> {
  const ofUsers = Map.groupBy(keys, (key) => key.split(' ')[1] ?? '')
  const found = new Map<string, true>()
  for (const [user, pairs] of ofUsers) {
    const packageIds = pairs.map((pair) => pair.split(' ')[0] ?? '')
    const ofUser = db.selectFrom(table).select('package_id').where('user_id', '=', user).where('package_id', 'in', packageIds)
    for (const row of await readRows(em, ofUser)) found.set(`${row.package_id} ${user}`, true)
  }
  return found
}
