import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit, type AuditEvent } from '../../accounts/audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import { conflict, insufficientPermissions } from '../../errors.ts'
import { subtractLikes } from '../likes/service.ts'
import { Package } from '../packages/entity.ts'
import { packagesLeftWithoutOwner } from '../packages/owners/service.ts'
import { Publisher, PublisherMember } from '../publishers/entity.ts'
import { editable, requirePerson } from '../../accounts/users/service.ts'
import { User } from '../../accounts/users/entity.ts'
import { isOneself } from '../../accounts/users/policy.ts'

/**
 * Deletes a user's account with its sessions, tokens, memberships and likes. Published packages remain, and show "deleted user".
 * @throws ApiError NotFound; InsufficientPermissions for the owner and for the caller's own account; Conflict, with the names, when packages or
 * publishers would be left without an uploader or administrator, and for a service account.
 */
export async function deleteUser(context: SignedInContext, id: string): Promise<void> {
  const { viewer } = context
  if (isOneself(context, { id })) throw insufficientPermissions('You cannot delete your own account. Ask another administrator.')
  await deleteAccount(context, id, async (_em, user) => {
    requirePerson(user)
    return { kind: 'user.deleted', summary: `${viewer.displayName} deleted the account of ${user.displayName}` }
  })
}

/** Checks whether the account may be deleted. @returns the audit entry. @throws ApiError if not. */
type DeletionCheck = (em: EntityManager, user: User) => Promise<Pick<AuditEvent, 'kind' | 'summary' | 'publisher'>>

/** Deletes an account of either kind like `deleteUser`, if `check` allows it. */
export async function deleteAccount({ em, viewer, ip }: SignedInContext, id: string, check: DeletionCheck): Promise<void> {
  await em.transactional(async (inner) => {
    await editable(inner, id)
    const locked = await lockBelongings(inner, id)
    // The lock prevents a concurrent transfer of ownership or first publish.
    await inner.findOne(User, id, { lockMode: LockMode.PESSIMISTIC_WRITE })
    const user = await editable(inner, id)
    const event = await check(inner, user)
    const obstacles = await obstaclesTo(inner, id, locked)
    if (obstacles.length) throw conflict(`${user.displayName} is ${obstacles.join(', and ')}.`)
    audit(inner, { ...event, actor: viewer, user, ip })
    await subtractLikes(inner, id)
    inner.remove(user)
  })
}

type Belongings = { packages: string[]; publishers: string[] }

/** Locks the user's packages and publishers, in the global lock order: packages, then publishers, then users. */
async function lockBelongings(em: EntityManager, userId: string): Promise<Belongings> {
  const belongings = await belongingsOf(em, userId)
  const options = { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' }, fields: ['id'] } as const
  await em.find(Package, { id: { $in: belongings.packages } }, options)
  await em.find(Publisher, { id: { $in: belongings.publishers } }, options)
  return belongings
}

async function belongingsOf(em: EntityManager, userId: string): Promise<Belongings> {
  const packages = await readRows(em, db.selectFrom('package_uploaders').select('package_id as id').where('user_id', '=', userId))
  const publishers = await readRows(em, db.selectFrom('publisher_members').select('publisher_id as id').where('user_id', '=', userId))
  return { packages: packages.map(({ id }) => id), publishers: publishers.map(({ id }) => id) }
}

/** Returns why the account cannot be deleted yet, as texts that follow "is". The lock of the user's row prevents new memberships. */
async function obstaclesTo(em: EntityManager, userId: string, locked: Belongings): Promise<string[]> {
  const now = await belongingsOf(em, userId)
  const fresh = now.packages.some((id) => !locked.packages.includes(id)) || now.publishers.some((id) => !locked.publishers.includes(id))
  if (fresh) throw conflict('The user has just joined a package or publisher. Reload, then try again.')
  const packages = await packagesLeftWithoutOwner(em, now.packages, { uploader: userId })
  const publishers = await lastAdminOf(em, userId, now.publishers)
  return [
    ...(packages.length ? [`the only uploader of ${packages.join(', ')}: add another uploader to each first`] : []),
    ...(publishers.length ? [`the last admin of the publisher ${publishers.join(', ')}: make another member an admin of each first`] : []),
  ]
}

/** Returns the ids of the publishers that would have no admin who is a person. A service account does not count. */
async function lastAdminOf(em: EntityManager, userId: string, publisherIds: string[]): Promise<string[]> {
  const admins = await em.find(
    PublisherMember,
    { publisher: { $in: publisherIds }, role: 'admin', user: { kind: 'person' } },
    { orderBy: { publisher: 'asc' } },
  )
  const mine = admins.filter(({ user }) => user.id === userId).map(({ publisher }) => publisher.id)
  return mine.filter((id) => !admins.some(({ publisher, user }) => publisher.id === id && user.id !== userId))
}
