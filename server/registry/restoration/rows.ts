import type { EntityManager } from '@mikro-orm/sql'
import { conflict } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { hasAdvisories } from '../advisories/service.ts'
import { PackageDownloads, VersionDownloads } from '../downloads/entity.ts'
import { PackageLike } from '../likes/entity.ts'
import { skeletonOf } from '../names/service.ts'
import { DeletedVersion, Package, PackageDependency, PackageUploader, PackageVersion, VersionDocument } from '../packages/entity.ts'
import { updateLatestVersions } from '../packages/versions/service.ts'
import { VersionProvenance } from '../trusted-publishing/entity.ts'
import { restoreRules } from '../trusted-publishing/kept.ts'
import { PackageWatch } from '../watching/entity.ts'
import { type PackageData, packageData, versionData } from './data.ts'
import { type DeletedPackage, DeletedPackageVersion } from './entity.ts'
import { existingUsers, loadOwners, nameTaken } from './list.ts'

/** Versions whose rows are read and written together, which bounds the memory for their documents. */
const batchSize = 20

/**
 * Inserts a package without its versions, as a private one. Owners that no longer exist are left out; without any, the caller
 * becomes its uploader.
 */
export async function restorePackageRows(em: EntityManager, context: SignedInContext, deleted: DeletedPackage): Promise<Package> {
  const { viewer, now } = context
  const data = packageData.parse(JSON.parse(deleted.data))
  const { name } = deleted
  if (await em.count(Package, { name })) throw conflict(nameTaken(name))
  const { publisher = null, uploaders = [] } = (await loadOwners({ em }, deleted.id)) ?? {}
  const owners = uploaders.length > 0 || publisher ? uploaders.map(({ id }) => id) : [viewer.id]
  const { isDiscontinued, replacedBy, isUnlisted, allowsManualPublishing, revision, latestVersion, createdAt } = data
  const advisoriesUpdated = (await hasAdvisories(em, name)) ? now() : data.advisoriesUpdated
  const options = { isDiscontinued, replacedBy, isUnlisted, allowsManualPublishing }
  const row = { ...options, revision, latestVersion, createdAt, advisoriesUpdated, publisher }
  const identity = { id: deleted.packageId, name, skeleton: skeletonOf(name) }
  const pkg = em.create(Package, { ...identity, ...row, description: '', visibility: 'private', updatedAt: now() })
  await em.flush()
  await em.insertMany(
    PackageUploader,
    owners.map((user) => ({ package: pkg.id, user })),
  )
  await restoreRules(em, pkg.id, data.trustedPublishers)
  await restoreCounts(em, pkg, data)
  return pkg
}

/** Inserts the likes and watches of accounts that still exist, and the downloads. */
async function restoreCounts(em: EntityManager, pkg: Package, data: PackageData): Promise<void> {
  const fans = [...data.likes, ...data.watches].map(({ userId }) => userId)
  const known = new Set((await existingUsers(em, [...new Set(fans)])).map(({ id }) => id))
  const rowsOf = (kept: PackageData['likes']) =>
    kept.filter(({ userId }) => known.has(userId)).map(({ userId: user, createdAt: at }) => ({ package: pkg.id, user, createdAt: at }))
  const [likes, watches] = [rowsOf(data.likes), rowsOf(data.watches)]
  if (likes.length > 0) await em.insertMany(PackageLike, likes)
  if (watches.length > 0) await em.insertMany(PackageWatch, watches)
  if (data.downloads.length > 0)
    await em.insertMany(
      PackageDownloads,
      data.downloads.map(([day, downloads]) => ({ package: pkg.id, day, downloads })),
    )
}

type Target = { pkg: Package; deleted: DeletedPackage }
type Restored = { version: string; versionId: string }

/** Inserts the kept versions with their documents, dependencies and downloads, and updates the latest version. Their numbers count as used again. */
export async function restoreVersionRows(em: EntityManager, { pkg, deleted }: Target): Promise<Restored[]> {
  const kept = await em.find(
    DeletedPackageVersion,
    { deleted: deleted.id },
    { fields: ['version', 'versionId'], orderBy: { versionId: 'asc' } },
  )
  const versions = kept.map(({ version, versionId }) => ({ version, versionId }))
  for (let start = 0; start < versions.length; start += batchSize)
    await restoreBatch(em.fork({ keepTransactionContext: true }), { pkg, deleted }, versions.slice(start, start + batchSize))
  const numbers = versions.map(({ version }) => version)
  await em.nativeDelete(DeletedVersion, { packageName: deleted.name, version: { $in: numbers } })
  await updateLatestVersions(em, pkg)
  return versions
}

/** `em` is discarded afterwards, together with the documents that it loaded. */
async function restoreBatch(em: EntityManager, { pkg, deleted }: Target, batch: readonly Restored[]): Promise<void> {
  const where = { deleted: deleted.id, version: { $in: batch.map(({ version }) => version) } }
  const rows = (await em.find(DeletedPackageVersion, where, { populate: ['data'] })).map((row) => ({
    ...row,
    kept: versionData.parse(JSON.parse(row.data)),
  }))
  const publishers = rows.flatMap(({ kept }) => kept.publishedById ?? [])
  const known = new Set((await existingUsers(em, [...new Set(publishers)])).map(({ id }) => id))
  await em.insertMany(
    PackageVersion,
    rows.map(({ versionId: id, version, archiveSha256, archiveBytes, kept }) => {
      const { createdAt, sortKey, isPrerelease, retractedAt, archiveCrc32c, pubspec, license, publishedById } = kept
      const publishedBy = publishedById !== null && known.has(publishedById) ? publishedById : null
      const archive = { archiveSha256, archiveBytes, archiveCrc32c }
      return { id, package: pkg.id, version, createdAt, sortKey, isPrerelease, retractedAt, ...archive, pubspec, license, publishedBy }
    }),
  )
  const documents = rows.flatMap(({ versionId, kept }) => kept.documents.map((document) => ({ version: versionId, ...document })))
  const dependencies = rows.flatMap(({ versionId, kept }) => kept.dependencies.map((dependency) => ({ version: versionId, ...dependency })))
  const downloads = rows.flatMap(({ versionId, kept }) =>
    kept.downloads.map(([day, number]) => ({ version: versionId, day, downloads: number })),
  )
  const provenances = rows.flatMap(({ versionId, kept }) =>
    kept.provenance === null ? [] : { version: versionId, details: kept.provenance },
  )
  if (provenances.length > 0) await em.insertMany(VersionProvenance, provenances)
  if (documents.length > 0) await em.insertMany(VersionDocument, documents)
  if (dependencies.length > 0) await em.insertMany(PackageDependency, dependencies)
  if (downloads.length > 0) await em.insertMany(VersionDownloads, downloads)
}
