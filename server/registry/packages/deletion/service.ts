import type { EntityManager } from '@mikro-orm/sql'
import { type AuditKind, audit } from '../../../accounts/audit/service.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import type { SignedInContext } from '../../../platform/access/context.ts'
import { countEach } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { conflict } from '../../../errors.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { type Chain, dependentsOfVersion, describeChains, publicDependents } from '../dependents/breakage.ts'
import { changePackage } from '../change-package.ts'
import { canDelete } from '../policy.ts'
import { DeletedVersion, type Package, PackageVersion } from '../entity.ts'
import { unknownVersion } from '../parameters.ts'
import { updateLatestVersions } from '../versions/service.ts'
import { z } from 'zod'
import { handler } from '../../../platform/jobs/handler.ts'
import type { Services } from '../../../services.ts'
import { graceDays } from '../../../platform/store/collect.ts'

type Choice = boolean | null | undefined
/** The package to delete, and whether to delete it even if that breaks public packages, and to free its name. */
export type PackageDeletion = { package: string; acceptBreakage?: Choice; freeName?: Choice }
export type VersionDeletion = PackageDeletion & { version: string }

/**
 * Deletes a package; requires a server admin. Reserves its version numbers, and its name unless `freeName` is set, and removes the archives after the
 * commit.
 * @throws ApiError NotFound; Conflict, listing the chains of public packages that depend on this one, unless breakage is accepted.
 */
export function deletePackage(context: SignedInContext, deletion: PackageDeletion): Promise<string> {
  return withoutBudget(context, () => deleteWhole(context, deletion))
}

function deleteWhole(context: SignedInContext, { package: name, acceptBreakage, freeName }: PackageDeletion): Promise<string> {
  return changePackage(context, name, canDelete, async (em, pkg) => {
    const broken = await brokenBy(em, context, pkg)
    requireAcceptance(name, broken, acceptBreakage)
    const versions = await em.find(PackageVersion, { package: pkg }, { fields: ['version', 'archiveSha256'] })
    const count = versions.length === 1 ? 'its only version' : `its ${versions.length} versions`
    record(context, em, 'package.deleted', `deleted ${name} with ${count}${breakageNote(broken)}`, { package: name })
    await removePackage(context, em, { pkg, versions, freesName: freeName ?? false })
    return pkg.id
  })
}

/**
 * Deletes a version, and the package along with its last version; requires a server admin. The number cannot be reused.
 * @throws ApiError NotFound; Conflict, listing the chains of public packages that no other version would satisfy, unless breakage is accepted.
 */
export function deleteVersion(context: SignedInContext, deletion: VersionDeletion): Promise<string> {
  const { package: name, version, acceptBreakage, freeName } = deletion
  return changePackage(context, name, canDelete, async (em, pkg) => {
    const found = await em.findOne(PackageVersion, { package: pkg, version }, { fields: ['version', 'archiveSha256'] })
    if (!found) throw unknownVersion(name, version)
    const broken = await brokenBy(em, context, pkg, version)
    requireAcceptance(`${name} ${version}`, broken, acceptBreakage)
    record(context, em, 'package.version_deleted', `deleted ${name} ${version}${breakageNote(broken)}`, { package: name, version })
    if (await isOnly(em, pkg)) {
      record(context, em, 'package.deleted', `deleted ${name} with its last version`, { package: name })
      await removePackage(context, em, { pkg, versions: [found], freesName: freeName ?? false })
      return found.id
    }
    await scheduleArchiveRemoval(context, em, found.archiveSha256, name, [found])
    await context.afterPackageChange(em, { kind: 'versionDeleted', packageId: pkg.id, versionId: found.id }, context)
    await em.nativeDelete(PackageVersion, { id: found.id })
    await updateLatestVersions(em, pkg)
    return found.id
  })
}

/** Returns the dependency chains of public packages that would break if a package, or one of its versions, were deleted. */
export async function brokenBy(
  em: EntityManager,
  { config }: Pick<SignedInContext, 'config'>,
  pkg: Package,
  version?: string | null,
): Promise<Chain[]> {
  if (version == null || (await isOnly(em, pkg))) return publicDependents({ em, config }, [pkg.name])
  return dependentsOfVersion({ em, config }, pkg.name, version)
}

/** Throws NotFound if a version is given and the package does not have it. */
export async function requireVersion(em: EntityManager, pkg: Package, version: string | null | undefined): Promise<void> {
  if (version != null && !(await countEach(em, PackageVersion, { package: pkg, version }))) throw unknownVersion(pkg.name, version)
}

const isOnly = async (em: EntityManager, pkg: Package) => (await countEach(em, PackageVersion, { package: pkg })) === 1

function requireAcceptance(what: string, broken: readonly Chain[], acceptBreakage: boolean | null | undefined): void {
  if (broken.length === 0 || acceptBreakage) return
  throw conflict(`Public packages depend on ${what}: ${describeChains(broken)}. To delete it and break them, add acceptBreakage=true.`)
}

const breakageNote = (broken: readonly Chain[]) => (broken.length ? `, accepting that it breaks ${describeChains(broken)}` : '')

type Removed = Pick<PackageVersion, 'version' | 'archiveSha256'>
type Removal = { pkg: Package; versions: readonly Removed[]; freesName: boolean }

/** Deletes the package row. Foreign keys cascade to its versions, documents, dependencies, uploaders and likes. */
async function removePackage(context: SignedInContext, em: EntityManager, { pkg, versions, freesName }: Removal): Promise<void> {
  await scheduleArchiveRemoval(context, em, pkg.id, pkg.name, versions)
  const wasPublic = pkg.visibility === 'public'
  if (wasPublic) {
    // Dependents treat a missing package like a private one. Making it private first updates their index entries in the usual lock order.
    pkg.visibility = 'private'
    await em.flush()
  }
  await context.afterPackageChange(em, { kind: 'deleted', name: pkg.name, wasPublic, freesName }, context)
  em.remove(pkg)
  await em.flush()
}

/** Records the deleted version numbers, which are never reused (pub's protocol, "Publish"), and enqueues the removal of their files. */
async function scheduleArchiveRemoval(
  { now }: SignedInContext,
  em: EntityManager,
  subject: string,
  packageName: string,
  versions: readonly Removed[],
): Promise<void> {
  const deletedAt = now()
  const rows = versions.map(({ version, archiveSha256 }) => ({ packageName, version, deletedAt, archiveSha256 }))
  await em.insertMany(DeletedVersion, rows)
  const hashes = versions.map(({ archiveSha256 }) => archiveSha256)
  const docs = await docsHashes(em, packageName, new Set(versions.map(({ version }) => version)))
  await enqueue(em, { kind: archiveRemovalKind, subject, payload: { hashes, docs } }, deletedAt)
}

async function docsHashes(em: EntityManager, packageName: string, versions: ReadonlySet<string>): Promise<string[]> {
  const rows = await readRows(
    em,
    db
      .selectFrom('version_docs as d')
      .innerJoin('package_versions as v', 'v.id', 'd.version_id')
      .innerJoin('packages as p', 'p.id', 'v.package_id')
      .select(['v.version', 'd.sha256'])
      .where('p.name', '=', packageName),
  )
  return rows.flatMap(({ version, sha256 }) => (versions.has(version) ? (sha256 ?? []) : []))
}

type About = { package: string; version?: string }

function record({ viewer, ip }: SignedInContext, em: EntityManager, kind: AuditKind, what: string, about: About): void {
  audit(em, { kind, actor: viewer, summary: `${viewer.displayName} ${what}`, ...about, ip })
}

export const archiveRemovalKind = 'archives.remove'

/** Removes archives that no version uses any more, and their documentation. Removed archives can be restored for a week. */
export const archiveRemoval = (
  { database, blobs, now, log }: Pick<Services, 'database' | 'blobs' | 'now' | 'log'>,
  removePages: (sha256: string) => Promise<void>,
) =>
  handler(
    z.object({ hashes: z.array(z.string()), docs: z.array(z.string()).default([]) }),
    async ({ progress, signal }, { hashes, docs: pages }) => {
      const em = database.fork()
      for (const [index, sha256] of hashes.entries()) {
        signal.throwIfAborted()
        progress({ done: index, total: hashes.length })
        if (await em.count(PackageVersion, { archiveSha256: sha256 })) continue
        const bytes = await blobs.remove(sha256, { at: now() })
        if (bytes !== null)
          log.info(`removed archive ${sha256} (${bytes} bytes): its version was deleted. It can be restored for ${graceDays} days.`)
      }
      for (const sha256 of pages) await removePages(sha256)
      progress({ done: hashes.length, total: hashes.length })
    },
  )
