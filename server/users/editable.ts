import type { Loaded } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { conflict, insufficientPermissions, notFound } from '../errors.ts'
import { User } from './entity.ts'
import { isOutOfReach } from './policy.ts'

/**
 * Somebody whom the admin API may edit.
 * @throws ApiError NotFound, InsufficientPermissions for the owner.
 */
export async function editable(em: EntityManager, id: string): Promise<Loaded<User, 'passwordHash'>> {
  const user = await em.findOne(User, id, { populate: ['passwordHash'], refresh: true })
  if (!user) throw notFound('There is no user with this id.')
  if (isOutOfReach(user)) throw untouchableOwner()
  return user
}

const untouchableOwner = () => insufficientPermissions('The owner cannot be changed here. Transfer the ownership first.')

/**
 * Changes columns of somebody; the condition is in the statement, so that a transfer of ownership a moment ago is not overwritten.
 * @throws ApiError NotFound for who was deleted meanwhile, InsufficientPermissions for the owner.
 */
export async function changeUnlessOwner(
  em: EntityManager,
  id: string,
  columns: Partial<Pick<User, 'role' | 'displayName' | 'isActive'>>,
): Promise<void> {
  if ((await em.nativeUpdate(User, { id, role: { $ne: 'owner' } }, columns)) > 0) return
  await editable(em, id)
  throw untouchableOwner()
}

/**
 * Gives somebody a password that they must change: of two resets at once one counts, so that nobody hands on a password that is worthless already.
 * `user` is as it was read before. One that they chose meanwhile, or that a sign-in only hashed anew, is replaced.
 * @throws ApiError as `changeUnlessOwner`; Conflict when the password was reset meanwhile.
 */
export async function replacePassword(em: EntityManager, user: Loaded<User, 'passwordHash'>, passwordHash: string): Promise<void> {
  const notReset = [{ passwordHash: user.passwordHash ?? null }, { mustChangePassword: false }]
  const still = { id: user.id, role: { $ne: 'owner' }, $or: notReset } as const
  if ((await em.nativeUpdate(User, still, { passwordHash, mustChangePassword: true })) > 0) return
  await editable(em, user.id)
  throw conflict(`The password of ${user.displayName} was reset a moment ago. Reset it again if that was not meant.`)
}
