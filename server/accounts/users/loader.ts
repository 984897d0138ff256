import { batched } from '../../platform/db/batched.ts'
import { User } from './entity.ts'

/** Loads users by id, with one query for all ids that are requested at the same moment. Returns null for a deleted user. */
export const loadUser = batched(async (em, ids) => {
  const users = await em.find(User, { id: { $in: ids } }, { populate: ['passwordHash'] })
  return new Map(users.map((user) => [user.id, user]))
})
