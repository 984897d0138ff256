import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { type AuditEvent, recordEvents } from '../../accounts/audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import { lockRows, readRow } from '../../platform/db/statements.ts'
import { conflict, insufficientPermissions } from '../../errors.ts'
import { touchIndex } from '../search/index-package.ts'
import { refreshIndex } from '../search/refresh-index.ts'
import { checkNewName, isUpstreamApproved, type NewName, requireApproval, rejectReserved } from '../names/service.ts'
import { findUpstreamClaim } from '../mirror/catalog/names.ts'
import { type Actor, adviceForAdmin } from '../../platform/access/roles.ts'
import { lockVisibility } from '../packages/visibility.ts'
import { DeletedVersion, Package } from '../packages/entity.ts'
import { licenseOf } from '../archive/license.ts'
import { hasPublishRight } from '../packages/policy.ts'
import { admitCiJob, grantPublish, recordPublish, requireManualPublishing } from '../trusted-publishing/provenance.ts'
import { advancePackage, findTarget, type Submission, type Target, writePackage, writeVersion } from './version-rows.ts'

/**
 * Checks whether the caller may publish this version now. Called before the bytes are stored, and repeated in the publishing transaction. Returns the
 * package name if it is new, otherwise null.
 * @throws ApiError InsufficientPermissions; Conflict when the version exists with different content, or the name is reserved; PackageRejected when
 * the name needs an administrator's approval.
 */
export async function admit(context: SignedInContext, submission: Submission): Promise<NewName | null> {
  const { em, database } = context
  const target = await findTarget((query, ...given) => database.reads.get(query, ...given), submission.pubspec)
  if (context.viewer.isCiJob) await admitCiJob(context, submission.pubspec, target)
  if (!target) return admitNewName(context, submission)
  if (context.viewer.isCiJob || (await hasPublishRight(em, context, target))) {
    if (!context.viewer.isCiJob) requireManualPublishing(target)
    isPublished(target, submission)
    return null
  }
  // A deleted package loses its uploaders. If the package was deleted concurrently, treat its name as new: deleted names are reserved.
  if (await em.count(Package, { id: target.id })) throw notAnUploader(context, target.name)
  return admitNewName(context, submission)
}

async function admitNewName(context: SignedInContext, submission: Submission): Promise<NewName> {
  const { name } = submission.pubspec
  await rejectReserved(context.em, name)
  await rejectDeleted(context.em, submission)
  const claim = (await isUpstreamApproved(context.em, name)) ? null : await findUpstreamClaim(context, name)
  await requireApproval(context, { name, claim })
  return { name, claim }
}

type PublishOptions = {
  /** The package name, if it was free in the first check. */
  newName: NewName | null
  /** Work to perform in the publishing transaction. `confusable`: the result of `checkNewName` for a new name. */
  inSameTransaction: (em: EntityManager, confusable: readonly string[]) => Promise<unknown>
}

/**
 * Publishes a version in one transaction; the commit makes it visible. The cost does not depend on the number of versions. Publishing identical bytes
 * again changes nothing.
 * @throws ApiError InsufficientPermissions; Conflict when the version or the new name was taken concurrently.
 */
export async function publish(context: SignedInContext, submission: Submission, options: PublishOptions): Promise<void> {
  for (let attemptsLeft = 3; ; attemptsLeft--) {
    try {
      return await context.em.fork().transactional((em) => publishWithin(em, context, submission, options))
    } catch (error) {
      // Two requests created the same package concurrently. The next attempt finds the existing package and checks the permissions for it.
      if (!(error instanceof UniqueConstraintViolationException)) throw error
      if (attemptsLeft === 1) throw conflict('Someone else is publishing this package at the same time. Try again.')
    }
  }
}

async function publishWithin(
  em: EntityManager,
  context: SignedInContext,
  submission: Submission,
  { newName, inSameTransaction }: PublishOptions,
): Promise<void> {
  const { name } = submission.pubspec
  const existing = await lockTarget(em, submission)
  const grant = context.viewer.isCiJob ? await grantPublish(em, context, submission.pubspec, existing) : null
  if (existing && !grant) await requireRight(em, context, existing, newName !== null)
  if (!existing && !newName) {
    await rejectReserved(em, name)
    throw conflict(`The package ${name} was deleted a moment ago. Publish again.`)
  }
  await inSameTransaction(em, existing || !newName ? [] : await checkNewName(em, context, newName))
  if (existing && isPublished(existing, submission)) return
  if (!existing) await rejectDeleted(em, submission)
  const at = context.now()
  const target = existing ?? (await writePackage(em, context, submission, at, grant?.rule.publisherId ?? null))
  const versionId = await writeVersion(em, context, target.id, submission, at)
  if (grant) await recordPublish(em, versionId, grant, { ...submission.pubspec, at })
  const isLatest = existing ? await advancePackage(em, existing, submission, at) : true
  // Check again after the insert: from here on, a concurrent deletion of a package with this name waits for this transaction.
  if (!existing) await rejectReserved(em, name)
  if (submission.pubspec.dependencies.some(({ kind, hostedUrl }) => kind === 'direct' && hostedUrl !== null)) await lockVisibility(em)
  // Reindex a public package even if this version is not the latest: its dependencies can change what anonymous callers may see of the package.
  if (isLatest) await refreshIndex(em, context.config, target.id, indexedOf(submission))
  else await (existing?.isPublic ? refreshIndex(em, context.config, target.id) : touchIndex(em, target.id, at))
  await recordEvents(em, eventsOf(context, submission, existing === null))
  await context.afterPackageChange(em, { kind: 'published', versionId, at }, context)
}

async function requireRight(em: EntityManager, context: SignedInContext, target: Target, isNewName: boolean): Promise<void> {
  if (!(await hasPublishRight(em, context, target)))
    throw isNewName ? conflict(`Someone else has just taken the package name ${target.name}.`) : notAnUploader(context, target.name)
  requireManualPublishing(target)
}

/** Locks the package until the end of the transaction and returns it, or null if it does not exist. */
async function lockTarget(em: EntityManager, { pubspec }: Submission): Promise<Target | null> {
  // A locking read can return a snapshot from before the lock, so read again after locking. SQLite has a single writer and needs no lock.
  await lockRows(em, db.selectFrom('packages').select('id').where('name', '=', pubspec.name).forUpdate())
  return findTarget((query, ...given) => readRow(em, query, ...given), pubspec)
}

function eventsOf({ viewer, ip }: SignedInContext, { pubspec }: Submission, isNew: boolean): AuditEvent[] {
  const { name, version } = pubspec
  const created = { kind: 'package.created', summary: `${viewer.displayName} created the package ${name}` } as const
  const published = { kind: 'package.version_published', summary: `${viewer.displayName} published ${name} ${version}`, version } as const
  const actor = viewer.isCiJob ? null : viewer
  return [...(isNew ? [created] : []), published].map((event) => ({ ...event, actor, package: name, ip }))
}

const indexedOf = ({ pubspec, readme, license }: Submission) => ({
  pubspec,
  readme: readme?.text ?? null,
  license: licenseOf(license?.text ?? null),
})

/** Returns whether this version is already published with identical content. @throws ApiError Conflict when it exists with different content. */
function isPublished({ publishedSha256, isDeleted }: Target, { pubspec: { name, version }, archive }: Submission): boolean {
  if (publishedSha256 !== null && publishedSha256 !== archive.sha256)
    throw conflict(`${name} ${version} already exists with different content. Published versions cannot change. Publish a new version.`)
  if (publishedSha256 === null && isDeleted) throw deleted(name, version)
  return publishedSha256 !== null
}

/** Rejects version numbers of deleted versions, which cannot be reused (pub's protocol, "Publish"). */
async function rejectDeleted(em: EntityManager, { pubspec: { name, version } }: Pick<Submission, 'pubspec'>): Promise<void> {
  if (await em.count(DeletedVersion, { packageName: name, version })) throw deleted(name, version)
}

const deleted = (name: string, version: string) =>
  conflict(`${name} ${version} was deleted. Its version number cannot be reused. Publish a new version.`)

const notAnUploader = (actor: Actor, name: string) =>
  insufficientPermissions(`You are not an uploader of ${name}. Ask one of its uploaders to add you.${adviceForAdmin(actor)}`)
