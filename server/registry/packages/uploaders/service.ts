import { ForeignKeyConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../../accounts/audit/service.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { conflict, invalidInput, notFound } from '../../../errors.ts'
import { User } from '../../../accounts/users/entity.ts'
import { emailKey } from '../../../accounts/users/input.ts'
import { limitLookups } from '../../../accounts/users/service.ts'
import { allowedScopes } from '../../../platform/access/roles.ts'
import { changePackage, unchanged } from '../changes/change-package.ts'
import { canNameUploaders } from '../policy.ts'
import { type Package, PackageUploader } from '../entity.ts'

/** A package, and the e-mail address of a user. */
export type UploaderInput = { package: string; email: string }

/**
 * Adds a user to the uploaders of a package. Does nothing if the user is an uploader already.
 * @throws ApiError NotFound; InsufficientPermissions; Conflict if the account cannot publish; RateLimitExceeded after too many addresses that could
 *   not be added.
 */
export async function addUploader(context: SignedInContext, { package: name, email }: UploaderInput): Promise<Package> {
  const { viewer, ip } = context
  const add = () =>
    changePackage(context, name, canNameUploaders, async (em, pkg) => {
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
 * Removes an uploader; callers may remove themselves. The last uploader of a package without a publisher cannot be removed. Account deletion
 * (account-deletion/service.ts) and changing the publisher (packages/publisher/service.ts) enforce the same rule.
 * @throws ApiError NotFound; InsufficientPermissions; InvalidInput for the last uploader of a package without a publisher.
 */
export async function removeUploader(context: SignedInContext, { package: name, email }: UploaderInput): Promise<Package> {
  const { viewer, ip } = context
  return changePackage(context, name, canNameUploaders, async (em, pkg) => {
    // The error is the same whether or not an account with this address exists, so that it does not reveal accounts.
    const uploader = await em.findOne(PackageUploader, { package: pkg, user: { emailKey: emailKey(email) } }, { populate: ['user'] })
    if (!uploader) throw notFound(`${email} is not an uploader of ${name}.`)
    const { user } = uploader
    if (!pkg.publisher && (await em.count(PackageUploader, { package: pkg })) === 1)
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

async function personOf(em: EntityManager, email: string): Promise<User> {
  const user = await em.findOne(User, { emailKey: emailKey(email) }, { populate: ['passwordHash'] })
  if (!user) throw unknownUser(email)
  return user
}

const unknownUser = (email: string) => notFound(`There is no user with the e-mail address ${email}. Ask an administrator to invite them.`)

/** Throws Conflict unless the account can publish at present. Uploaders keep their rights if the account changes later. */
function requireCanPublish({ displayName, isActive, passwordHash, role }: User): void {
  if (!isActive) throw conflict(`The account of ${displayName} is disabled. Ask an administrator to activate it first.`)
  if (passwordHash === null) throw conflict(`${displayName} has not accepted the invitation yet. Add them once they have.`)
  if (!allowedScopes(role).includes('write'))
    throw conflict(`${displayName} has the role ${role}, which cannot publish. Ask an administrator to make them a member first.`)
}
