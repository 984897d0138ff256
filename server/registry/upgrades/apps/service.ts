import type { EntityManager } from '@mikro-orm/sql'
import { User } from '../../../accounts/users/entity.ts'
import { conflict, insufficientPermissions, notFound } from '../../../errors.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { type Actor, isServerAdmin, mayWrite } from '../../../platform/access/roles.ts'
import { idOf } from '../../../platform/db/base.ts'
import { batched } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { changeRows } from '../../../platform/db/statements.ts'
import { inOrderOf, type PageArguments } from '../../../platform/graphql/connections.ts'
import { advisoriesOfVersion } from '../../advisories/service.ts'
import { findPublisher } from '../../publishers/list.ts'
import { isMember } from '../../publishers/policy.ts'
import { lockPublisher, unknownPublisher } from '../../publishers/service.ts'
import { type CheckedPackage, checkUpgrades, type UpgradeCheck } from '../service.ts'
import { SavedApp } from './entity.ts'

/** Maximum number of applications of a user or of a publisher. */
export const maxApps = 50

/** Only the owner sees an application of a user; members and server admins see those of a publisher. */
const canSee = async (em: EntityManager, actor: Actor, { user, publisher }: Pick<SavedApp, 'user' | 'publisher'>): Promise<boolean> =>
  publisher ? isServerAdmin(actor) || (await isMember(em, actor.viewer, publisher)) : user?.id === actor.viewer.id

/** Anyone who sees an application, and whose credential may write, can change and delete it. */
export const canChangeApp = async (em: EntityManager, actor: Actor, app: Pick<SavedApp, 'user' | 'publisher'>): Promise<boolean> =>
  mayWrite(actor) && (await canSee(em, actor, app))

/** Returns the applications of the caller, or of a publisher, by name. @throws ApiError NotFound, InsufficientPermissions */
export async function listApps(context: SignedInContext, publisher: string | null | undefined, page: PageArguments) {
  const { em, viewer } = context
  if (publisher == null) return inOrderOf(em, SavedApp, 'name', { user: viewer.id }, page)
  const owner = await findPublisher(em, publisher)
  if (!owner) throw unknownPublisher(publisher)
  if (!(await canSee(em, context, { user: null, publisher: owner }))) throw notMember(publisher)
  return inOrderOf(em, SavedApp, 'name', { publisher }, page)
}

/** Returns an application, or null if it does not exist or the caller may not see it. */
export async function findApp(context: SignedInContext, id: string): Promise<SavedApp | null> {
  const known = idOf(id)
  const app = known && (await context.em.findOne(SavedApp, { id: known }))
  return app && (await canSee(context.em, context, app)) ? app : null
}

/** What to save: the content of a pubspec.lock under a name of the caller, or of a publisher. */
export type NewApp = { name: string; lock: string; publisher?: string | null | undefined }

/**
 * Saves a pubspec.lock under a name, in place of the former content. Requires write access, and for a publisher a membership.
 * @throws ApiError InvalidInput if the text is not a pubspec.lock; NotFound; InsufficientPermissions; Conflict at the maximum number.
 */
export async function saveApp(context: SignedInContext, { name, lock, publisher: slug }: NewApp): Promise<SavedApp> {
  const { em, viewer, now } = context
  await checkUpgrades(context, lock)
  return em.fork().transactional(async (inner) => {
    const publisher = slug == null ? null : await lockPublisher(inner, slug)
    const user = publisher ? null : inner.getReference(User, viewer.id)
    if (!(await canChangeApp(inner, context, { user, publisher }))) throw notMember(slug ?? '')
    if (user) await lockRow(inner, viewer.id)
    const where = publisher ? { publisher: publisher.id } : { user: viewer.id }
    const saved = { lock, savedAt: now(), savedBy: inner.getReference(User, viewer.id) }
    const former = await inner.findOne(SavedApp, { ...where, name })
    if (former) return Object.assign(former, saved)
    if ((await inner.count(SavedApp, where)) >= maxApps)
      throw conflict(`At most ${maxApps} apps can be saved here. Delete some that you no longer need.`)
    return inner.create(SavedApp, { user, publisher, name, ...saved })
  })
}

/** Locks a user until the transaction ends, so that concurrent calls count one after the other. */
const lockRow = (em: EntityManager, userId: string) =>
  changeRows(
    em,
    db
      .updateTable('users')
      .set((eb) => ({ display_name: eb.ref('display_name') }))
      .where('id', '=', userId),
  )

/** Deletes an application. Requires write access. @throws ApiError NotFound; InsufficientPermissions without write access. */
export async function deleteApp(context: SignedInContext, id: string): Promise<void> {
  const app = await findApp(context, id)
  if (!app) throw unknownApp()
  if (!(await canChangeApp(context.em, context, app))) throw insufficientPermissions('Your token may not delete apps: it only reads.')
  await context.em.fork().nativeDelete(SavedApp, { id: app.id })
}

export const unknownApp = () => notFound('You have no saved app with this identifier.')
const notMember = (slug: string) => insufficientPermissions(`Only members of the publisher ${slug} can see and save its apps.`)

/** Reads the saved files of applications, by id. */
export const loadLock = batched<string>(async (em, ids) => {
  const apps = await em.find(SavedApp, { id: { $in: ids } }, { populate: ['lock'], disableIdentityMap: true })
  return new Map(apps.map(({ id, lock }) => [id, lock]))
})

/** Checks the saved file of an application like `checkUpgrades`. Null if it was deleted concurrently. */
export async function checkApp(context: SignedInContext, { id }: SavedApp): Promise<UpgradeCheck | null> {
  const lock = await loadLock(context, id)
  return lock === null ? null : checkUpgrades(context, lock)
}

/** Whether a package of the file got a later version, or an advisory about the locked version, after the file was saved. */
export async function changedSince(context: SignedInContext, { locked, latest, state }: CheckedPackage, at: Date): Promise<boolean> {
  if (state === 'behind' && latest && latest.createdAt > at) return true
  const advisories = locked ? await advisoriesOfVersion(context, locked.package.id, locked.version) : []
  return advisories.some(({ row }) => row.modifiedAt > at)
}
