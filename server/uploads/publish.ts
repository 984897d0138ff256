import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { type AuditEvent, recordEvents } from '../audit/service.ts'
import type { SignedInContext } from '../access/context.ts'
import { readRow } from '../db/statements.ts'
import { conflict, insufficientPermissions } from '../errors.ts'
import { touchIndex } from '../search/index-package.ts'
import { refreshIndex } from '../search/refresh-index.ts'
import { judgeNewName, requireApproval } from '../names/confusable.ts'
import { refuseReserved } from '../names/reserved.ts'
import { type Actor, adviceForAdmin } from '../roles/viewer.ts'
import { holdVisibility } from '../packages/visibility/mark.ts'
import { DeletedVersion } from '../packages/dependency-entity.ts'
import { Package } from '../packages/entity.ts'
import { licenseOf } from '../archive/license.ts'
import { canPublish } from '../packages/policy.ts'
import type { Submission } from './submission.ts'
import { findTarget, type Target } from './target.ts'
import { advancePackage, writePackage, writeVersion } from './write-version.ts'

/**
 * Whether the caller may publish this now; asked before the bytes are stored, and again in the transaction.
 * @throws ApiError InsufficientPermissions; Conflict when the version exists with other bytes, or the name is reserved; PackageRejected
 * when the name waits for an administrator's approval.
 */
export async function admit(context: SignedInContext, submission: Submission): Promise<{ isNewName: boolean }> {
  const { em, database } = context
  const target = await findTarget((sql, values) => database.reads.get(sql, ...values), submission.pubspec)
  if (!target) return admitNewName(context, submission)
  if (await canPublish(em, context, target)) {
    isPublished(target, submission)
    return { isNewName: false }
  }
  // Its uploaders go with a package: somebody may just have deleted it, and then its name is reserved.
  if (await em.count(Package, { id: target.id })) throw notYours(context, target.name)
  return admitNewName(context, submission)
}

async function admitNewName(context: SignedInContext, submission: Submission): Promise<{ isNewName: true }> {
  const { name } = submission.pubspec
  await refuseReserved(context.em, name)
  await refuseDeleted(context.em, submission)
  await requireApproval(context, name)
  return { isNewName: true }
}

type Circumstances = {
  /** Whether nobody had the name when the caller was admitted. */
  isNewName: boolean
  /** Work that is committed with the version, or not at all. It hears which names a new one could be confused with. */
  alongWith: (em: EntityManager, similarNames: readonly string[]) => Promise<unknown>
}

/**
 * Publishes a version in one transaction; its commit is what makes it visible. Its cost does not depend on how many versions there are.
 * The same bytes again change nothing.
 * @throws ApiError InsufficientPermissions; Conflict when the version, or the new name, was taken by somebody faster.
 */
export async function publish(context: SignedInContext, submission: Submission, circumstances: Circumstances): Promise<void> {
  for (let attemptsLeft = 3; ; attemptsLeft--) {
    try {
      return await context.em.fork().transactional((em) => publishWithin(em, context, submission, circumstances))
    } catch (error) {
      // Two made the same new name at once: the second attempt finds the other's package and judges it.
      if (!(error instanceof UniqueConstraintViolationException)) throw error
      if (attemptsLeft === 1) throw conflict('Someone else is publishing this package at the same time. Try again.')
    }
  }
}

async function publishWithin(
  em: EntityManager,
  context: SignedInContext,
  submission: Submission,
  { isNewName, alongWith }: Circumstances,
): Promise<void> {
  const { name } = submission.pubspec
  const existing = await lockTarget(em, context, submission)
  if (existing && !(await canPublish(em, context, existing)))
    throw isNewName ? conflict(`Someone else has just taken the name ${name}.`) : notYours(context, name)
  await alongWith(em, existing ? [] : await judgeNewName(em, context, name))
  if (existing && isPublished(existing, submission)) return
  if (!existing) await refuseDeleted(em, submission)
  const at = context.now()
  const target = existing ?? (await writePackage(em, context, submission, at))
  const versionId = await writeVersion(em, context, target.id, submission, at)
  const isLatest = existing ? await advancePackage(em, existing, submission, at) : true
  // Only now: whoever deletes a package of this name from here on waits for this transaction.
  if (!existing) await refuseReserved(em, name)
  if (submission.pubspec.dependencies.some(({ kind, hostedUrl }) => kind === 'direct' && hostedUrl !== null)) await holdVisibility(em)
  // Of a public package anybody may find less than its latest version, by what this one needs.
  if (isLatest) await refreshIndex(em, context.config, target.id, indexedOf(submission))
  else await (existing?.isPublic ? refreshIndex(em, context.config, target.id) : touchIndex(em, target.id, at))
  await recordEvents(em, eventsOf(context, submission, existing === null))
  await context.afterPackageChange(em, { kind: 'published', versionId, at }, context)
}

/** The package of this name, which nobody else changes until the end of the transaction; null when there is none. */
async function lockTarget(em: EntityManager, { database }: SignedInContext, { pubspec }: Submission): Promise<Target | null> {
  // What is read with the lock may be older than the lock, so it is read after it. SQLite has one writer anyway.
  if (database.backend === 'postgres') await readRow(em, 'select id from packages where name = ? for update', [pubspec.name])
  return findTarget((sql, values) => readRow(em, sql, values), pubspec)
}

function eventsOf({ viewer, ip }: SignedInContext, { pubspec }: Submission, isNew: boolean): AuditEvent[] {
  const { name, version } = pubspec
  const created = { kind: 'package.created', summary: `${viewer.displayName} created the package ${name}` } as const
  const published = { kind: 'package.version_published', summary: `${viewer.displayName} published ${name} ${version}`, version } as const
  return [...(isNew ? [created] : []), published].map((event) => ({ ...event, actor: viewer, package: name, ip }))
}

/** What the index needs of the version that was just written. */
const indexedOf = ({ pubspec, readme, license }: Submission) => ({
  pubspec,
  readme: readme?.text ?? null,
  license: licenseOf(license?.text ?? null),
})

/** Whether exactly this is published; a version never changes. @throws ApiError Conflict when the number is taken. */
function isPublished({ publishedSha256, isDeleted }: Target, { pubspec: { name, version }, archive }: Submission): boolean {
  if (publishedSha256 !== null && publishedSha256 !== archive.sha256)
    throw conflict(`${name} ${version} is published already, with other contents. A version never changes: raise the version number.`)
  if (publishedSha256 === null && isDeleted) throw deleted(name, version)
  return publishedSha256 !== null
}

/** A version's number stays taken when the version is deleted (pub's protocol, "Publish"). */
async function refuseDeleted(em: EntityManager, { pubspec: { name, version } }: Pick<Submission, 'pubspec'>): Promise<void> {
  if (await em.count(DeletedVersion, { packageName: name, version })) throw deleted(name, version)
}

const deleted = (name: string, version: string) =>
  conflict(`${name} ${version} was deleted, and its number is never used again. Raise the version number.`)

const notYours = (actor: Actor, name: string) =>
  insufficientPermissions(`You are not an uploader of ${name}. Ask one of its uploaders to add you.${adviceForAdmin(actor)}`)
