import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import type { Context } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { lockTable } from '../../platform/db/statements.ts'
import { type PageArguments, pageByKey } from '../../platform/graphql/connections.ts'
import { Package } from '../packages/entity.ts'
import { versionNumbers } from '../packages/versions/service.ts'
import { Advisory, AdvisoryPackage } from './entity.ts'
import { type Affected, affectedPackages, affectedVersions, isAffected, type Osv, storedOsv } from './osv.ts'

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>

/** An advisory with its parsed document. */
export type KnownAdvisory = { row: Advisory; osv: Osv }

/** An advisory with the entries that concern one package. */
export type PackageAdvisory = KnownAdvisory & { pkg: Package; entries: Affected[] }

/** Returns a package's advisories that are not withdrawn, most recently changed first. */
export const advisoriesOfPackage = async (reader: Reader, packageId: string): Promise<PackageAdvisory[]> =>
  (await loadAdvisories(reader, packageId)) ?? []

/** Returns a package's advisories that affect one version. */
export async function advisoriesOfVersion(reader: Reader, packageId: string, version: string): Promise<PackageAdvisory[]> {
  return (await advisoriesOfPackage(reader, packageId)).filter(({ entries }) => entries.some((entry) => isAffected(entry, version)))
}

/**
 * Returns the versions that an advisory affects, as far as the caller may know them: existing versions, and other versions listed in the advisory.
 */
export async function affectedOf(reader: Reader, { pkg, entries }: PackageAdvisory): Promise<string[]> {
  const { readable, withheld } = await versionNumbers(reader, pkg)
  const unknown = new Set(withheld)
  return affectedVersions(entries, readable).filter((version) => !unknown.has(version))
}

/** Returns all advisories, or those of one package, most recently imported first. */
export function listAdvisories(em: EntityManager, packageName: string | null | undefined, page: PageArguments) {
  return pageByKey(page, {
    keyOf: ({ row }: KnownAdvisory) => row.id,
    load: async (limit, after) => {
      const where = { ...(await about(em, packageName)), ...(after !== undefined && { $and: [{ id: { $lt: after } }] }) }
      return (await em.find(Advisory, where, { orderBy: { id: 'desc' }, limit })).map(readAdvisory)
    },
    count: async () => em.count(Advisory, await about(em, packageName)),
  })
}

export const readAdvisory = (row: Advisory): KnownAdvisory => ({ row, osv: storedOsv(row.document) })

/** Returns the names of the packages that an advisory affects, each with the package if it exists on this server. */
export async function packagesOf(reader: Reader, { osv }: KnownAdvisory): Promise<{ name: string; pkg: Package | null }[]> {
  const names = [...new Set(affectedPackages(osv).map((entry) => entry.package.name))].sort()
  return Promise.all(names.map(async (name) => ({ name, pkg: await loadPackageByName(reader, name) })))
}

async function about(em: EntityManager, packageName: string | null | undefined) {
  if (packageName == null) return {}
  const rows = await em.find(AdvisoryPackage, { packageName })
  return { id: { $in: rows.map(({ advisory }) => advisory.id) } }
}

const loadPackageByName = batched(async (em, names) => {
  const packages = await em.find(Package, { name: { $in: names } })
  return new Map(packages.map((pkg) => [pkg.name, pkg]))
})

const loadAdvisories = batched(async (em, packageIds) => {
  const packages = await em.find(Package, { id: { $in: packageIds }, advisoriesUpdated: { $ne: null } })
  const byName = new Map(packages.map((pkg) => [pkg.name, pkg]))
  const rows = await em.find(
    AdvisoryPackage,
    { packageName: { $in: [...byName.keys()] }, advisory: { withdrawnAt: null } },
    { populate: ['advisory'], orderBy: { advisory: { modifiedAt: 'desc', osvId: 'asc' } } },
  )
  const found = rows.flatMap(({ advisory, packageName }) => {
    const pkg = byName.get(packageName)
    const known = readAdvisory(advisory)
    return pkg ? { ...known, pkg, entries: affectedPackages(known.osv).filter((entry) => entry.package.name === packageName) } : []
  })
  return Map.groupBy(found, ({ pkg }) => pkg.id)
})

/** Marks the advisories of these packages as changed in their listings, in the transaction that changes them. Unknown names are ignored. */
export async function markAdvisoriesChanged(em: EntityManager, names: readonly string[], now: Date): Promise<void> {
  await em.flush()
  // Lock in a fixed order to avoid deadlocks.
  const packages = await em.find(
    Package,
    { name: { $in: names.toSorted() } },
    { orderBy: { name: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  )
  for (const pkg of packages) {
    pkg.advisoriesUpdated = laterThan(pkg.advisoriesUpdated, now)
    pkg.revision += 1
  }
  await em.flush()
}

type Subject = { name: string; advisoriesUpdated?: Date | null | undefined }

/**
 * Returns the new `advisoriesUpdated` of a package after publishing a version, so that clients check whether the new version is affected. Null if the
 * package has no advisories.
 */
export const advisoriesAfterPublish = ({ advisoriesUpdated }: Subject, now: Date): Date | null =>
  advisoriesUpdated ? laterThan(advisoriesUpdated, now) : null

/** Whether advisories exist for a package that is about to be created. Call in the transaction that creates the package. */
export async function hasAdvisories(em: EntityManager, name: string): Promise<boolean> {
  // Serialize with imports: otherwise the import and the new package could each miss the other's uncommitted rows.
  await lockTable(em, 'advisory_packages', 'share')
  return (await em.count(AdvisoryPackage, { packageName: name })) > 0
}

/**
 * Returns `now`, or a later date than `before` if the clock went backwards. Clients cache advisories until the listing has a later date, so the date
 * must always increase.
 */
const laterThan = (before: Date | null | undefined, now: Date): Date => (before && before >= now ? new Date(before.getTime() + 1) : now)
