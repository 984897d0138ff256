import { ForeignKeyConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../../accounts/audit/service.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { conflict, invalidInput, notFound, insufficientPermissions } from '../../../errors.ts'
import { User } from '../../../accounts/users/entity.ts'
import { emailKey } from '../../../accounts/users/input.ts'
import { hasAccepted } from '../../../accounts/users/policy.ts'
import { limitLookups } from '../../../accounts/users/service.ts'
import { allowedScopes, type Viewer } from '../../../platform/access/roles.ts'
import { db } from '../../../platform/db/query.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { changePackage, unchanged } from '../change-package.ts'
import { canManageUploaders, canChoosePublisher } from '../policy.ts'
import { Package, PackageUploader } from '../entity.ts'
import { lockPublisher } from '../../publishers/service.ts'
import type { Publisher } from '../../publishers/entity.ts'
import { isMember } from '../../publishers/policy.ts'

export type UploaderInput = { package: string; email: string }

/**
 * Adds a user to the uploaders of a package. Does nothing if the user is an uploader already.
 * @throws ApiError NotFound; InsufficientPermissions; Conflict if the account cannot publish; RateLimitExceeded (see `limitLookups`).
 */
export async function addUploader(context: SignedInContext, { package: name, email }: UploaderInput): Promise<Package> {
  const { viewer, ip } = context
  const add = () =>
    changePackage(context, name, canManageUploaders, async (em, pkg) => {
      const user = await personOf(em, email)
      if (await em.findOne(PackageUploader, { package: pkg, user })) return unchanged(pkg)
      requireCanPublish(user)
      em.create(PackageUploader, { package: pkg, user })
      const summary = `${viewer.displayName} added ${user.displayName} to the uploaders of ${name}`
      audit(em, { kind: 'package.uploader_added', actor: viewer, user, summary, package: name, ip })
      await em.flush()
      return pkg
    })
  try {
    return await limitLookups(context, add)
  } catch (error) {
    // The account was deleted concurrently.
    if (error instanceof ForeignKeyConstraintViolationException) throw unknownUser(email)
    throw error
  }
}

/**
 * Removes an uploader; callers may remove themselves.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput for the last uploader of a package without a publisher.
 */
export async function removeUploader(context: SignedInContext, { package: name, email }: UploaderInput): Promise<Package> {
  const { viewer, ip } = context
  return changePackage(context, name, canManageUploaders, async (em, pkg) => {
    // The error is the same whether or not an account with this address exists, so that it does not reveal accounts.
    const uploader = await em.findOne(PackageUploader, { package: pkg, user: { emailKey: emailKey(email) } }, { populate: ['user'] })
    if (!uploader) throw notFound(`${email} is not an uploader of ${name}.`)
    const { user } = uploader
    if ((await packagesLeftWithoutOwner(em, [pkg.id], { uploader: user.id })).length > 0)
      throw invalidInput(
        `${user.displayName} is the last uploader of ${name}, which has no publisher. Add another uploader first.`,
        'email',
      )
    em.remove(uploader)
    const summary = `${viewer.displayName} removed ${user.displayName} from the uploaders of ${name}`
    audit(em, { kind: 'package.uploader_removed', actor: viewer, user, summary, package: name, ip })
    return pkg
  })
}

/**
 * Returns the names, in order, of the packages that would have neither a publisher nor an uploader after losing an uploader (a user's id) or their
 * publisher. Every package must keep one of them. Call with the packages locked.
 */
export async function packagesLeftWithoutOwner(
  em: EntityManager,
  packageIds: string[],
  lost: { uploader: string } | 'publisher',
): Promise<string[]> {
  const [others, publisher] = lost === 'publisher' ? [{}, {}] : [{ user: { $ne: lost.uploader } }, { publisher: null }]
  const uploaders = await em.find(PackageUploader, { package: { $in: packageIds }, ...others })
  const kept = new Set(uploaders.map((uploader) => uploader.package.id))
  const alone = packageIds.filter((id) => !kept.has(id))
  const orphans = await em.find(Package, { id: { $in: alone }, ...publisher }, { fields: ['name'], orderBy: { name: 'asc' } })
  return orphans.map(({ name }) => name)
}

async function personOf(em: EntityManager, email: string): Promise<User> {
  const user = await em.findOne(User, { emailKey: emailKey(email) }, { populate: ['passwordHash'] })
  if (!user) throw unknownUser(email)
  return user
}

const unknownUser = (email: string) => notFound(`There is no user with the e-mail address ${email}. Ask an administrator to invite them.`)

/** Throws Conflict unless the account can publish at present. Uploaders keep their rights if the account changes later. */
function requireCanPublish(user: User): void {
  const { displayName, isActive, role } = user
  if (!isActive) throw conflict(`The account of ${displayName} is disabled. Ask an administrator to activate it first.`)
  if (!hasAccepted(user)) throw conflict(`${displayName} has not accepted the invitation yet. Add them once they have.`)
  if (!allowedScopes(role).includes('write'))
    throw conflict(`${displayName} has the role ${role}, which cannot publish. Ask an administrator to make them a member first.`)
}

/**
 * Transfers a package to a publisher, or removes it from its publisher. Uploaders keep their rights. The caller must be an uploader or a server
 * admin, and a member of both publishers.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput if the package would have neither a publisher nor an uploader.
 */
export function setPackagePublisher(context: SignedInContext, name: string, publisherId: string | null): Promise<Package> {
  return changePackage(
    context,
    name,
    canChoosePublisher,
    async (em, pkg) => {
      const from = pkg.publisher?.id ?? null
      const involved = await lockOwnPublishers(em, context.viewer, [from, publisherId])
      if (publisherId === from) return unchanged(pkg)
      if (publisherId === null && (await packagesLeftWithoutOwner(em, [pkg.id], 'publisher')).length > 0)
        throw invalidInput(`${name} has no uploaders, so it needs a publisher. Add an uploader first.`, 'publisher')
      pkg.publisher = publisherId === null ? null : (involved.get(publisherId) ?? null)
      await recordTransfer(em, context, pkg, from, publisherId)
      return pkg
    },
    () => `Only uploaders of ${name} and administrators of this server can choose its publisher. Ask one of them.`,
  )
}

/** Returns publishers, locked in the order of their ids to avoid deadlocks. Throws InsufficientPermissions for non-members. */
async function lockOwnPublishers(em: EntityManager, viewer: Viewer, ids: (string | null)[]): Promise<Map<string, Publisher>> {
  const publishers = new Map<string, Publisher>()
  for (const id of [...new Set(ids)].filter((one) => one !== null).toSorted()) {
    const publisher = await lockPublisher(em, id)
    if (!(await isMember(em, viewer, publisher)))
      throw insufficientPermissions(`You are not a member of the publisher ${id}. Ask one of its admins to add you.`)
    publishers.set(id, publisher)
  }
  return publishers
}

/** Writes one audit entry per publisher, so that the change appears in the history of both. Names the rules about CI jobs, which stay. */
async function recordTransfer(
  em: EntityManager,
  { viewer, ip }: SignedInContext,
  { id, name }: Package,
  from: string | null,
  to: string | null,
): Promise<void> {
  const rules = (await readRows(em, db.selectFrom('trusted_publishers').select('id').where('package_id', '=', id))).length
  const kept = rules === 0 ? '' : rules === 1 ? ', with its trusted publisher' : `, with its ${rules} trusted publishers`
  const entry = { kind: 'package.publisher_changed', actor: viewer, package: name, ip } as const
  const who = viewer.displayName
  if (from !== null) audit(em, { ...entry, publisher: from, summary: `${who} removed ${name} from the publisher ${from}${kept}` })
  if (to !== null) audit(em, { ...entry, publisher: to, summary: `${who} transferred ${name} to the publisher ${to}${kept}` })
}
