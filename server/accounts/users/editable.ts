import type { Loaded } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { conflict, insufficientPermissions, notFound } from '../../errors.ts'
import { User } from './entity.ts'
import { isProtected } from './policy.ts'

/**
 * Returns a user that the admin API may edit.
 * @throws ApiError NotFound; InsufficientPermissions for the owner.
 */
export async function editable(em: EntityManager, id: string): Promise<Loaded<User, 'passwordHash'>> {
  const user = await em.findOne(User, id, { populate: ['passwordHash'], refresh: true })
  if (!user) throw notFound('There is no user with this id.')
  if (isProtected(user)) throw untouchableOwner()
  return user
}

const untouchableOwner = () => insufficientPermissions('The owner cannot be changed here. Transfer the ownership first.')

/**
 * Updates columns of a user other than the owner. The statement repeats the condition, so that a concurrent transfer of ownership is respected.
 * @throws ApiError NotFound when the user was deleted concurrently; InsufficientPermissions for the owner.
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
 * Sets a password that the user must change. Of two concurrent resets, the second fails, so that no administrator passes on a password that is
 * already invalid. `user` is the state before the reset. A password that the user chose, or that a sign-in rehashed, in the meantime is replaced.
 * @throws ApiError as `changeUnlessOwner`; Conflict when the password was reset concurrently.
 */
export async function replacePassword(em: EntityManager, user: Loaded<User, 'passwordHash'>, passwordHash: string): Promise<void> {
  const notReset = [{ passwordHash: user.passwordHash ?? null }, { mustChangePassword: false }]
  const still = { id: user.id, role: { $ne: 'owner' }, $or: notReset } as const
  if ((await em.nativeUpdate(User, still, { passwordHash, mustChangePassword: true })) > 0) return
  await editable(em, user.id)
  throw conflict(`The password of ${user.displayName} was just reset by someone else. Reset it again to replace that password.`)
}
