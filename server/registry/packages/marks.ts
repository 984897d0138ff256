import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { Context } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRows } from '../../platform/db/statements.ts'
import { Package } from './entity.ts'
import { unknownPackage } from './parameters.ts'

/** Tables of packages that users mark, with a row for each user and package. */
type MarkTable = 'package_likes' | 'package_watches'
type Mark = { userId: string; packageId: string; at: Date }

/** Locks a package before the marks of it, in the same order as package deletion does, to avoid deadlocks. @throws ApiError NotFound. */
export async function lockMarkable(em: EntityManager, name: string): Promise<Package> {
  const pkg = await em.findOne(Package, { name }, { lockMode: LockMode.PESSIMISTIC_READ })
  if (!pkg) throw unknownPackage(name)
  return pkg
}

/** Returns the functions that read and write the marks in a table. */
export function marksIn(table: MarkTable) {
  const load = batched((em, keys) => findPairs(em, table, keys))
  return {
    /** Returns whether the caller has marked a package. */
    isMarked: async (context: Context, { id }: Pick<Package, 'id'>): Promise<boolean> =>
      context.viewer !== null && ((await load(context, `${id} ${context.viewer.id}`)) ?? false),
    /** Adds or removes a mark. Returns false if there is nothing to change, also because of a concurrent request. */
    async write(em: EntityManager, { userId, packageId, at }: Mark, isMarked: boolean): Promise<boolean> {
      const add = () =>
        db
          .insertInto(table)
          .values({ user_id: userId, package_id: packageId, created_at: at })
          .onConflict((known) => known.doNothing())
      const remove = () => db.deleteFrom(table).where('user_id', '=', userId).where('package_id', '=', packageId)
      return (await changeRows(em, isMarked ? add() : remove())) > 0
    },
  }
}

/** Returns which of the pairs `<package id> <user id>` a table has. */
async function findPairs(em: EntityManager, table: MarkTable, keys: string[]): Promise<Map<string, true>> {
  const ofUsers = Map.groupBy(keys, (key) => key.split(' ')[1] ?? '')
  const found = new Map<string, true>()
  for (const [user, pairs] of ofUsers) {
    const packageIds = pairs.map((pair) => pair.split(' ')[0] ?? '')
    const ofUser = db.selectFrom(table).select('package_id').where('user_id', '=', user).where('package_id', 'in', packageIds)
    for (const row of await readRows(em, ofUser)) found.set(`${row.package_id} ${user}`, true)
  }
  return found
}
