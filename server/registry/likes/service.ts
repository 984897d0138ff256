import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRows } from '../../platform/db/statements.ts'
import type { Package } from '../packages/entity.ts'
import { lockMarkable, marksIn } from '../packages/marks.ts'
import { PackageLike } from './entity.ts'

/**
 * Adds or removes the caller's like of a package and returns the package. Repeating the call changes nothing.
 * @throws ApiError NotFound.
 */
export function setLike({ em, viewer, now }: SignedInContext, name: string, liked: boolean): Promise<Package> {
  return em.fork().transactional(async (inner) => {
    const pkg = await lockMarkable(inner, name)
    const hasChanged = await likes.write(inner, { userId: viewer.id, packageId: pkg.id, at: now() }, liked)
    if (hasChanged) await changeRows(inner, addLikes(liked ? 1 : -1).where('package_id', '=', pkg.id))
    return pkg
  })
}

export const likes = marksIn('package_likes')

/** Subtracts a user's likes from the counts in the search index. Call before deleting the account, in the same transaction. */
export async function subtractLikes(em: EntityManager, userId: string): Promise<void> {
  const liked = db.selectFrom('package_likes').select('package_id').where('user_id', '=', userId)
  await changeRows(em, addLikes(-1).where('package_id', 'in', liked))
}

const addLikes = (count: number) => db.updateTable('package_search_documents').set((eb) => ({ likes: eb('likes', '+', count) }))

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
  return new Map((await readRows(em, counts)).map((row) => [row.package_id, row.likes]))
})
