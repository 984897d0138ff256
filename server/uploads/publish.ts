import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { advisoriesAfterPublish, hasAdvisories } from '../advisories/announce.ts'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../access/context.ts'
import { conflict, insufficientPermissions } from '../errors.ts'
import { touchIndex } from '../search/index-package.ts'
import { refreshIndex } from '../search/refresh-index.ts'
import { judgeNewName, requireApproval } from '../names/confusable.ts'
import { refuseReserved } from '../names/reserved.ts'
import { skeletonOf } from '../names/skeleton.ts'
import type { InspectedPackage } from '../archive/inspect.ts'
import { User } from '../users/entity.ts'
import { type Actor, adviceForAdmin } from '../roles/viewer.ts'
import { holdVisibility } from '../packages/visibility/mark.ts'
import { DeletedVersion, PackageDependency } from '../packages/dependency-entity.ts'
import { documentKinds, Package, PackageUploader, PackageVersion, VersionDocument } from '../packages/entity.ts'
import { latestOf, latestPrereleaseOf } from '../packages/versions/latest.ts'
import { licenseOf } from '../packages/versions/license.ts'
import { canPublish } from '../packages/policy.ts'
import { versionKey } from '../pub/sort-key.ts'
import { isPrerelease } from '../pub/version.ts'

/** A checked archive whose bytes are stored, or about to be. */
export type Submission = InspectedPackage & { archive: { sha256: string; bytes: number; crc32c: string } }

/**
 * Whether the caller may publish this now; asked before the bytes are stored, and again in the transaction.
 * @throws ApiError InsufficientPermissions; Conflict when the version exists with other bytes, or the name is reserved; PackageRejected
 * when the name waits for an administrator's approval.
 */
export async function admit(context: SignedInContext, submission: Submission): Promise<{ isNewName: boolean }> {
  const { em } = context
  const pkg = await em.findOne(Package, { name: submission.pubspec.name })
  if (!pkg) return admitNewName(context, submission)
  if (await canPublish(em, context, pkg)) {
    await publishedAlready(em, pkg, submission)
    return { isNewName: false }
  }
  // Its uploaders go with a package: somebody may just have deleted it, and then its name is reserved.
  if (await em.count(Package, { id: pkg.id })) throw notYours(context, pkg.name)
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
      if (attemptsLeft === 1) throw conflict('Somebody else is publishing this package at the same time. Try again.')
    }
  }
}

async function publishWithin(
  em: EntityManager,
  context: SignedInContext,
  submission: Submission,
  { isNewName, alongWith }: Circumstances,
): Promise<void> {
  const { viewer, ip } = context
  const { name, version } = submission.pubspec
  const publishedAt = context.now()
  const existing = await em.findOne(Package, { name }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (existing && !(await canPublish(em, context, existing)))
    throw isNewName ? conflict(`Somebody else has just taken the name ${name}.`) : notYours(context, name)
  await alongWith(em, existing ? [] : await judgeNewName(em, context, name))
  if (existing && (await publishedAlready(em, existing, submission))) return
  if (!existing) await refuseDeleted(em, submission)
  const pkg = existing ?? (await createPackage(em, context, submission, publishedAt))
  createVersion(em, context, pkg, submission, publishedAt)
  if (existing) await advance(em, existing, submission, publishedAt)
  await em.flush()
  // Only now: whoever deletes a package of this name from here on waits for this transaction.
  if (!existing) await refuseReserved(em, name)
  if (submission.pubspec.dependencies.some(({ hostedUrl }) => hostedUrl !== null)) await holdVisibility(em)
  await (pkg.latestVersion === version ? refreshIndex(em, context.config, pkg.id) : touchIndex(em, pkg.id, publishedAt))
  audit(em, {
    kind: 'package.version_published',
    actor: viewer,
    summary: `${viewer.displayName} published ${name} ${version}`,
    package: name,
    version,
    ip,
  })
}

async function createPackage(em: EntityManager, context: SignedInContext, { pubspec }: Submission, createdAt: Date): Promise<Package> {
  const { viewer, ip, database } = context
  const { name, version, description } = pubspec
  const latestPrerelease = isPrerelease(version) ? version : null
  const pkg = em.create(Package, {
    name,
    skeleton: skeletonOf(name),
    description,
    latestVersion: version,
    latestPrerelease,
    revision: 1,
    createdAt,
    updatedAt: createdAt,
    advisoriesUpdated: (await hasAdvisories(em, database.backend, name)) ? createdAt : null,
  })
  em.create(PackageUploader, { package: pkg, user: em.getReference(User, viewer.id) })
  audit(em, { kind: 'package.created', actor: viewer, summary: `${viewer.displayName} created the package ${name}`, package: name, ip })
  return pkg
}

function createVersion(em: EntityManager, { viewer }: SignedInContext, pkg: Package, submission: Submission, createdAt: Date): void {
  const { pubspec, archive } = submission
  const version = em.create(PackageVersion, {
    package: pkg,
    version: pubspec.version,
    sortKey: versionKey(pubspec.version),
    isPrerelease: isPrerelease(pubspec.version),
    publishedBy: em.getReference(User, viewer.id),
    archiveSha256: archive.sha256,
    archiveBytes: archive.bytes,
    archiveCrc32c: archive.crc32c,
    pubspec: JSON.stringify(pubspec.document),
    license: licenseOf(submission.license?.text ?? null),
    createdAt,
  })
  for (const kind of documentKinds) {
    const document = submission[kind]
    if (document) em.create(VersionDocument, { version, kind, path: document.path, content: document.text })
  }
  createDependencies(em, version, pubspec)
}

/** Dependencies become rows when they come from a registry or an SDK; nobody finds the others by name. */
function createDependencies(em: EntityManager, version: PackageVersion, { dependencies, devDependencies }: Submission['pubspec']): void {
  for (const [kind, list] of [['direct', dependencies] as const, ['dev', devDependencies] as const]) {
    for (const { source, name, constraint, hostedUrl, sdk } of list) {
      if (source === 'hosted' || source === 'sdk') em.create(PackageDependency, { version, kind, name, constraint, hostedUrl, sdk })
    }
  }
}

/** Moves the pointers of a package that gets another version: only the versions that they name now can keep them. */
async function advance(em: EntityManager, pkg: Package, { pubspec }: Submission, updatedAt: Date): Promise<void> {
  const { version, description } = pubspec
  const latest = await em.findOne(PackageVersion, { package: pkg, version: pkg.latestVersion }, { fields: ['retractedAt'] })
  const candidates = [
    { version: pkg.latestVersion, retracted: latest === null || latest.retractedAt !== null },
    ...(pkg.latestPrerelease ? [{ version: pkg.latestPrerelease, retracted: false }] : []),
    { version, retracted: false },
  ]
  pkg.latestVersion = latestOf(candidates)?.version ?? version
  pkg.latestPrerelease = latestPrereleaseOf(candidates)?.version ?? null
  if (pkg.latestVersion === version) pkg.description = description
  pkg.revision += 1
  pkg.updatedAt = updatedAt
  pkg.advisoriesUpdated = advisoriesAfterPublish(pkg, updatedAt)
}

/** Whether exactly this is published; a version never changes. */
async function publishedAlready(em: EntityManager, pkg: Package, { pubspec, archive }: Submission): Promise<boolean> {
  const published = await em.findOne(PackageVersion, { package: pkg, version: pubspec.version }, { fields: ['archiveSha256'] })
  if (published && published.archiveSha256 !== archive.sha256) {
    throw conflict(
      `${pubspec.name} ${pubspec.version} is published already, with other contents. A version never changes: raise the version number.`,
    )
  }
  if (!published) await refuseDeleted(em, { pubspec })
  return published !== null
}

/** A version's number stays taken when the version is deleted (pub's protocol, "Publish"). */
async function refuseDeleted(em: EntityManager, { pubspec: { name, version } }: Pick<Submission, 'pubspec'>): Promise<void> {
  if (await em.count(DeletedVersion, { packageName: name, version }))
    throw conflict(`${name} ${version} was deleted, and its number is never used again. Raise the version number.`)
}

const notYours = (actor: Actor, name: string) =>
  insufficientPermissions(`You are not an uploader of ${name}. Ask one of its uploaders to add you.${adviceForAdmin(actor)}`)
