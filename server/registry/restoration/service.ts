import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { sql } from 'kysely'
import pLimit from 'p-limit'
import { audit } from '../../accounts/audit/service.ts'
import { conflict, notFound } from '../../errors.ts'
import { withoutBudget } from '../../platform/access/budget.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { BlobStore } from '../../platform/blobs/store.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRow } from '../../platform/db/statements.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { graceDays } from '../../platform/store/collect.ts'
import type { Services } from '../../services.ts'
import { findUpstreamClaim } from '../mirror/catalog/names.ts'
import { ReservedName } from '../names/entity.ts'
import { isUpstreamApproved, lockNewNames, releaseName, requireApproval } from '../names/service.ts'
import { archiveRemovalKind } from '../packages/deletion/service.ts'
import { Package } from '../packages/entity.ts'
import { lockVisibility } from '../packages/visibility.ts'
import { DeletedPackage, DeletedPackageVersion } from './entity.ts'
import { loadObstacle, packageGone } from './list.ts'
import { restorePackageRows, restoreVersionRows } from './rows.ts'

const dayMs = 86_400_000

/** Returns when a deleted package is gone permanently. */
export const deletionUndoneUntil = ({ createdAt }: Pick<DeletedPackage, 'createdAt'>): Date =>
  new Date(createdAt.getTime() + graceDays * dayMs)

/** Condition for what can still be restored. */
export const restorableFilter = (now: Date) => ({ createdAt: { $gt: new Date(now.getTime() - graceDays * dayMs) } })

/** Permanently deletes what was deleted more than seven days ago. Safe to run at any time and on several instances. Returns the number. */
export const purgeDeleted = ({ database, now }: Pick<Services, 'database' | 'now'>): Promise<number> =>
  database.fork().nativeDelete(DeletedPackage, { createdAt: { $lte: new Date(now().getTime() - graceDays * dayMs) } })

/**
 * Restores a deleted package or version; requires a server admin. The archives are put back into the store first; then all rows are written in one
 * transaction. The package is private afterwards. Scores and documentation are made again.
 * @throws ApiError NotFound after seven days and for what is already restored; Conflict when the name or the version is in use, or an archive is gone.
 */
export const restoreDeleted = (context: SignedInContext, id: string): Promise<Package> => withoutBudget(context, () => restore(context, id))

async function restore(context: SignedInContext, id: string): Promise<Package> {
  const { em, blobs, now } = context
  const deleted = await em.fork().findOne(DeletedPackage, { id, ...restorableFilter(now()) })
  if (!deleted) throw unknownDeletion()
  const obstacle = await loadObstacle({ em }, id)
  if (obstacle) throw conflict(obstacle)
  const archives = await em.fork().find(DeletedPackageVersion, { deleted: id }, { fields: ['version', 'archiveSha256'] })
  const isReserved = deleted.isWhole && (await requireName(context, deleted.name))
  const subject = deleted.isWhole ? deleted.packageId : (archives[0]?.archiveSha256 ?? '')
  await stopRemoval(em, deleted.name, subject)
  const pkg = await putBackAndRestore(context, { deleted, archives, isReserved }).catch(async (error: unknown) => {
    const hashes = archives.map(({ archiveSha256 }) => archiveSha256)
    await em.fork().transactional((inner) => enqueue(inner, { kind: archiveRemovalKind, subject, payload: { hashes, docs: [] } }, now()))
    throw error
  })
  // A removal that had already begun may have moved an archive after it was put back.
  for (const { archiveSha256 } of archives) if (!(await blobs.has(archiveSha256))) await blobs.restore(archiveSha256)
  return pkg
}

/**
 * Returns whether a name is still reserved: the mirror does not serve it anyway. A name that was freed is treated like a new one.
 * @throws ApiError PackageRejected if the mirrored server has a package with the name, or may have, and the name is not approved.
 */
async function requireName(context: SignedInContext, name: string): Promise<boolean> {
  const { em } = context
  if ((await em.fork().count(ReservedName, { name })) > 0) return true
  if (await isUpstreamApproved(em, name)) return false
  const claim = await findUpstreamClaim(context, name)
  if (claim.reason !== null) await requireApproval(context, { name, claim })
  return false
}

type Restoration = { deleted: DeletedPackage; archives: readonly Archive[]; isReserved: boolean }

async function putBackAndRestore(context: SignedInContext, { deleted, archives, isReserved }: Restoration): Promise<Package> {
  await putAllBack(context.blobs, deleted.name, archives)
  return context.em
    .fork()
    .transactional((em) => restoreRows(em, context, { id: deleted.id, isReserved }))
    .catch(explainRace)
}

/** Takes the removal of the archives out of the queue. Archives of other deletions in the same job are collected later, as unused ones. */
async function stopRemoval(em: EntityManager, name: string, subject: string): Promise<void> {
  await em.fork().transactional(async (inner) => {
    await changeRows(
      inner,
      db
        .deleteFrom('jobs')
        .where('kind', '=', archiveRemovalKind)
        .where((eb) => eb('state', '=', sql.lit('queued')))
        .where('subject', '=', subject),
    )
    const running = await readRow(
      inner,
      db
        .selectFrom('jobs')
        .select('id')
        .where('kind', '=', archiveRemovalKind)
        .where('state', '=', 'running')
        .where('subject', '=', subject),
    )
    if (running) throw conflict(`The archives of ${name} are being removed right now. Try again in a few seconds.`)
  })
}

type Archive = Pick<DeletedPackageVersion, 'version' | 'archiveSha256'>

/** Number of archives that are put back concurrently. */
const archivesAtOnce = 8

async function putAllBack(blobs: BlobStore, name: string, archives: readonly Archive[]): Promise<void> {
  const limit = pLimit(archivesAtOnce)
  const results = await Promise.allSettled(archives.map((archive) => limit(() => putBack(blobs, name, archive))))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

async function putBack(blobs: BlobStore, name: string, { version, archiveSha256: sha256 }: Archive): Promise<void> {
  if ((await blobs.has(sha256)) || (await blobs.restore(sha256)) || (await blobs.has(sha256))) return
  throw conflict(`The archive of ${name} ${version} is no longer stored, so it cannot be restored.`)
}

/** Writes the rows of a package or a version, and deletes what was kept of them. The row lock serializes concurrent restorations. */
async function restoreRows(
  em: EntityManager,
  context: SignedInContext,
  { id, isReserved }: { id: string; isReserved: boolean },
): Promise<Package> {
  const { viewer, ip, now } = context
  const lock = db.updateTable('deleted_packages').set((eb) => ({ versions: eb.ref('versions') }))
  if (!(await changeRows(em, lock.where('id', '=', id)))) throw unknownDeletion()
  const deleted = await em.findOneOrFail(DeletedPackage, { id }, { populate: ['data'] })
  if (deleted.isWhole) await takeName(em, deleted.name, isReserved)
  const pkg = deleted.isWhole ? await restorePackageRows(em, context, deleted) : await lockPackage(em, deleted)
  const obstacle = deleted.isWhole ? null : await loadObstacle({ em }, id)
  if (obstacle) throw conflict(obstacle)
  const restored = await restoreVersionRows(em, { pkg, deleted })
  const about = deleted.isWhole ? { package: deleted.name } : { package: deleted.name, version: restored[0]?.version ?? '' }
  const count = restored.length === 1 ? '1 version' : `${restored.length} versions`
  const what = deleted.isWhole
    ? `the deleted package ${deleted.name} with ${count}`
    : `the deleted version ${deleted.name} ${about.version}`
  const kind = deleted.isWhole ? 'package.restored' : 'package.version_restored'
  audit(em, { kind, actor: viewer, summary: `${viewer.displayName} restored ${what}`, ...about, ip })
  await em.nativeDelete(DeletedPackage, { id })
  pkg.revision += 1
  pkg.updatedAt = now()
  await em.flush()
  await lockVisibility(em)
  const versionIds = restored.map(({ versionId }) => versionId)
  await context.afterPackageChange(em, { kind: 'restored', name: deleted.name, packageId: pkg.id, versionIds, at: now() }, context)
  return pkg
}

/** Releases the name. Restorations and publishes of new names take turns by the same lock. @throws ApiError Conflict if it was freed concurrently. */
async function takeName(em: EntityManager, name: string, isReserved: boolean): Promise<void> {
  await lockNewNames(em)
  const released = await releaseName(em, name)
  if (isReserved && released === 0) throw conflict(`The name ${name} was freed at the same time. Try again.`)
}

async function lockPackage(em: EntityManager, { name, packageId }: DeletedPackage): Promise<Package> {
  const lock = db.updateTable('packages').set((eb) => ({ revision: eb.ref('revision') }))
  await changeRows(em, lock.where('id', '=', packageId))
  const pkg = await em.findOne(Package, { id: packageId })
  if (!pkg) throw conflict(packageGone(name))
  return pkg
}

const unknownDeletion = () => notFound(`Not found. Deleted packages and versions can be restored for ${graceDays} days.`)

function explainRace(error: unknown): never {
  if (error instanceof UniqueConstraintViolationException) throw conflict('The name or the version was published at the same time.')
  throw error
}
