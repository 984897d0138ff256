import type { EntityManager } from '@mikro-orm/sql'
import { User } from '../../accounts/users/entity.ts'
import type { Viewer } from '../../platform/access/roles.ts'
import { PackageDownloads, VersionDownloads } from '../downloads/entity.ts'
import { PackageLike } from '../likes/entity.ts'
import { Package, PackageDependency, PackageUploader, PackageVersion, VersionDocument } from '../packages/entity.ts'
import { readProvenances, readRulesToKeep } from '../trusted-publishing/kept.ts'
import { PackageWatch } from '../watching/entity.ts'
import type { KeptPackage, KeptVersion } from './data.ts'
import { DeletedPackage, DeletedPackageVersion } from './entity.ts'

type Deleter = { viewer: Viewer; now: () => Date }

/** Versions that are read and written together, which bounds the memory for their documents. */
const batchSize = 20

/** Keeps a package that is about to be deleted, in the transaction of the deletion. `wasPublic` is its visibility before the deletion began. */
export async function keepPackage(em: EntityManager, deleter: Deleter, change: { name: string; wasPublic: boolean }): Promise<void> {
  const pkg = await em.findOneOrFail(Package, { name: change.name })
  const versions = await em.find(PackageVersion, { package: pkg }, { fields: ['id'], orderBy: { id: 'asc' } })
  const data = await packageRows(em, pkg, change.wasPublic)
  await keep(em, deleter, { pkg, isWhole: true, data: JSON.stringify(data), versionIds: versions.map(({ id }) => id) })
}

/** Keeps a version that is about to be deleted, in the transaction of the deletion. */
export async function keepVersion(em: EntityManager, deleter: Deleter, { packageId, versionId }: { packageId: string; versionId: string }) {
  const pkg = await em.findOneOrFail(Package, { id: packageId })
  await keep(em, deleter, { pkg, isWhole: false, data: '', versionIds: [versionId] })
}

type Kept = { pkg: Package; isWhole: boolean; data: string; versionIds: readonly string[] }

async function keep(em: EntityManager, { viewer, now }: Deleter, { pkg, isWhole, data, versionIds }: Kept): Promise<void> {
  const deleted = em.create(DeletedPackage, {
    name: pkg.name,
    packageId: pkg.id,
    isWhole,
    deletedBy: em.getReference(User, viewer.id),
    versions: versionIds.length,
    data,
    createdAt: now(),
  })
  await em.flush()
  for (let start = 0; start < versionIds.length; start += batchSize) {
    const rows = await versionRows(em.fork({ keepTransactionContext: true }), versionIds.slice(start, start + batchSize))
    await em.insertMany(
      DeletedPackageVersion,
      rows.map((row) => ({ deleted: deleted.id, ...row })),
    )
  }
}

async function packageRows(em: EntityManager, pkg: Package, wasPublic: boolean): Promise<KeptPackage> {
  const uploaders = await em.find(PackageUploader, { package: pkg })
  const likes = await em.find(PackageLike, { package: pkg })
  const watches = await em.find(PackageWatch, { package: pkg })
  const downloads = await em.find(PackageDownloads, { package: pkg })
  return {
    createdAt: pkg.createdAt.toISOString(),
    revision: pkg.revision,
    latestVersion: pkg.latestVersion,
    visibility: wasPublic ? 'public' : 'private',
    isDiscontinued: pkg.isDiscontinued,
    replacedBy: pkg.replacedBy ?? null,
    isUnlisted: pkg.isUnlisted,
    allowsManualPublishing: pkg.allowsManualPublishing,
    trustedPublishers: await readRulesToKeep(em, pkg.id),
    advisoriesUpdated: pkg.advisoriesUpdated?.toISOString() ?? null,
    publisherId: pkg.publisher?.id ?? null,
    uploaderIds: uploaders.map(({ user }) => user.id),
    likes: likes.map(ofUser),
    watches: watches.map(ofUser),
    downloads: downloads.map(({ day, downloads: number }) => [day, number]),
  }
}

const ofUser = ({ user, createdAt }: PackageLike | PackageWatch) => ({ userId: user.id, createdAt: createdAt.toISOString() })

type VersionRow = Pick<DeletedPackageVersion, 'version' | 'versionId' | 'archiveSha256' | 'archiveBytes' | 'data'>

/** Returns the rows of versions. `em` is discarded afterwards, together with the documents that it loaded. */
async function versionRows(em: EntityManager, ids: readonly string[]): Promise<VersionRow[]> {
  const versions = await em.find(PackageVersion, { id: { $in: [...ids] } })
  const ofThese = { version: { $in: [...ids] } }
  const documents = Map.groupBy(await em.find(VersionDocument, ofThese), ({ version }) => version.id)
  const dependencies = Map.groupBy(await em.find(PackageDependency, ofThese), ({ version }) => version.id)
  const downloads = Map.groupBy(await em.find(VersionDownloads, ofThese), ({ version }) => version.id)
  const provenances = await readProvenances(em, ids)
  return versions.map(({ id, version, archiveSha256, archiveBytes, ...row }) => {
    const data: KeptVersion = {
      createdAt: row.createdAt.toISOString(),
      sortKey: row.sortKey,
      isPrerelease: row.isPrerelease,
      retractedAt: row.retractedAt?.toISOString() ?? null,
      publishedById: row.publishedBy?.id ?? null,
      archiveCrc32c: row.archiveCrc32c,
      pubspec: row.pubspec,
      license: row.license ?? null,
      provenance: provenances.get(id) ?? null,
      documents: (documents.get(id) ?? []).map(({ kind, path, content }) => ({ kind, path, content })),
      dependencies: (dependencies.get(id) ?? []).map(({ kind, name, constraint, hostedUrl, sdk }) => {
        return { kind, name, constraint, hostedUrl: hostedUrl ?? null, sdk: sdk ?? null }
      }),
      downloads: (downloads.get(id) ?? []).map(({ day, downloads: number }) => [day, number]),
    }
    return { version, versionId: id, archiveSha256, archiveBytes, data: JSON.stringify(data) }
  })
}
