import type { EntityManager } from '@mikro-orm/sql'
import DataLoader from 'dataloader'
import { User } from './entity.ts'

export type UsersById = DataLoader<string, User | null>

/** Loads people by id: all that one request asks for in one query. A deleted person is null. */
export function usersById(em: EntityManager): UsersById {
  return new DataLoader(async (ids) => {
    const users = await em.find(User, { id: { $in: [...ids] } }, { populate: ['passwordHash'] })
    const byId = new Map(users.map((user) => [user.id, user]))
    return ids.map((id) => byId.get(id) ?? null)
  })
}
