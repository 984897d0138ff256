import { batched } from '../../platform/db/batched.ts'
import { User } from './entity.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { idOf } from '../../platform/db/base.ts'
import { emailKey } from './input.ts'
import { ApiError, conflict, insufficientPermissions, notFound } from '../../errors.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import type { Loaded } from '@mikro-orm/core'
import { isIdle } from '../../platform/access/authenticate.ts'
import { isProtected } from './policy.ts'

/** Loads users by id, with one query for all ids that are requested at the same moment. Returns null for a deleted user. */
export const loadUser = batched(async (em, ids) => {
  const users = await em.find(User, { id: { $in: ids } }, { populate: ['passwordHash'] })
  return new Map(users.map((user) => [user.id, user]))
})

/** Reads the current state of a user, after a change. */
export const reloadUser = (em: EntityManager, id: string): Promise<Loaded<User, 'passwordHash'>> =>
  em.findOneOrFail(User, id, { populate: ['passwordHash'], refresh: true })

/** Returns whether sessions and tokens of the user are paused until the next sign-in. */
export function isIdleUser(user: Loaded<User, 'passwordHash'>, { config, now }: Context): boolean {
  const { kind, role, passwordHash, providerSignInAt, lastLoginAt, createdAt } = user
  const signIns = { provider_sign_in_at: providerSignInAt ?? null, last_login_at: lastLoginAt ?? null, user_created_at: createdAt }
  return isIdle({ kind, role, has_password: passwordHash != null, ...signIns }, config, now())
}

/** An id that no user has, so that a filter by an unknown address matches nothing. */
const unknownUser = '00000000-0000-0000-0000-000000000000'

/** Returns the id of a user given by e-mail address or id. */
export async function personId(em: EntityManager, person: string): Promise<string> {
  const id = idOf(person)
  if (id) return id
  const user = await em.findOne(User, { emailKey: emailKey(person) }, { fields: ['id'] })
  return user?.id ?? unknownUser
}

/**
 * Rate-limits lookups of users by e-mail address, so that accounts cannot be enumerated. Attempts that reveal nothing are refunded.
 * @throws ApiError RateLimitExceeded; rethrows errors of `work`.
 */
export async function limitLookups<Result>({ limits, viewer }: SignedInContext, work: () => Promise<Result>): Promise<Result> {
  await limits.use('emailLookup', viewer.id)
  let hasRevealed = false
  try {
    return await work()
  } catch (error) {
    hasRevealed = error instanceof ApiError && (error.code === 'NotFound' || error.code === 'Conflict')
    throw error
  } finally {
    if (!hasRevealed) await limits.refund('emailLookup', viewer.id)
  }
}

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

/** Throws Conflict for a service account, which has no password, invitation or sessions, and is managed by its own operations. */
export function requirePerson({ kind, displayName }: Pick<User, 'kind' | 'displayName'>): void {
  if (kind === 'service') throw conflict(`${displayName} is a service account. Manage it where service accounts are managed.`)
}

const untouchableOwner = () => insufficientPermissions('The owner cannot be changed here. Transfer the ownership first.')

/**
 * Updates columns of a user other than the owner. The statement repeats the condition, so that a concurrent transfer of ownership is respected.
 * @throws ApiError NotFound when the user was deleted concurrently; InsufficientPermissions for the owner.
 */
export async function changeUnlessOwner(
  em: EntityManager,
  id: string,
  columns: Partial<Pick<User, 'role' | 'hasMappedRole' | 'displayName' | 'isActive'>>,
) {
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
