import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../db/batched.ts'
import type { Reads } from '../db/reads.ts'
import { User } from '../users/entity.ts'
import { type DocumentKind, Package, PackageUploader, PackageVersion, VersionDocument } from './entity.ts'

type Page = { limit: number; after?: string | undefined; offset?: number | undefined }

/** The package of this name, or null. */
export const findPackage = (em: EntityManager, name: string): Promise<Package | null> => em.findOne(Package, { name })

/** What lists show: unlisted packages are found by name only. */
const listed = { isUnlisted: false }

/** Listed packages by name; `after` is the name of the last one of the page before. */
export function listPackages(em: EntityManager, { limit, after, offset }: Page): Promise<Package[]> {
  return em.find(Package, after === undefined ? listed : { ...listed, name: { $gt: after } }, {
    orderBy: { name: 'asc' },
    limit,
    ...(offset && { offset }),
  })
}

export const countPackages = (em: EntityManager): Promise<number> => em.count(Package, listed)

/** All names, in order. */
export async function listPackageNames(reads: Reads, { withUnlisted }: { withUnlisted: boolean }): Promise<string[]> {
  const which = withUnlisted ? '' : 'where not is_unlisted'
  const rows = await reads.all<{ name: string }>(`select name from packages ${which} order by name`)
  return rows.map(({ name }) => name)
}

/** One version, or null. */
export const findVersion = (em: EntityManager, pkg: Package, version: string): Promise<PackageVersion | null> =>
  em.findOne(PackageVersion, { package: pkg, version })

/** Versions from the highest down; `after` is the sort key of the last one of the page before. */
export function listVersions(em: EntityManager, pkg: Package, { limit, after }: Page): Promise<PackageVersion[]> {
  return em.find(
    PackageVersion,
    { package: pkg, ...(after !== undefined && { sortKey: { $lt: after } }) },
    { orderBy: { sortKey: 'desc' }, limit },
  )
}

export const countVersions = (em: EntityManager, pkg: Package): Promise<number> => em.count(PackageVersion, { package: pkg })

/** The version whose archive this is, or null. An archive names its package and version, so it can be no other's. */
export const findVersionByArchive = (em: EntityManager, sha256: string): Promise<PackageVersion | null> =>
  em.findOne(PackageVersion, { archiveSha256: sha256 })

/** A text of a version, or null. */
export const findDocument = (em: EntityManager, version: PackageVersion, kind: DocumentKind): Promise<VersionDocument | null> =>
  em.findOne(VersionDocument, { version, kind })

/** A package by id. */
export const loadPackage = batched(async (em, ids) => byKey(await em.find(Package, { id: { $in: ids } }), ({ id }) => id))

/** A package by name. */
export const loadPackageByName = batched(async (em, names) => byKey(await em.find(Package, { name: { $in: names } }), ({ name }) => name))

/** A package's latest version, by the package's id. */
export const loadLatest = batched(async (em, packageIds) => {
  const packages = await em.find(Package, { id: { $in: packageIds } })
  const versions = await em.find(PackageVersion, { $or: packages.map((pkg) => ({ package: pkg, version: pkg.latestVersion })) })
  return byKey(versions, (version) => version.package.id)
})

/** A package's uploaders by name, by the package's id. */
export const loadUploaders = batched(async (em, packageIds) => {
  const rows = await em.find(
    PackageUploader,
    { package: { $in: packageIds } },
    { populate: ['user'], orderBy: { user: { displayName: 'asc', id: 'asc' } } },
  )
  return Map.groupBy(rows, (row) => row.package.id) as ReadonlyMap<string, (PackageUploader & { user: User })[]>
})

/** A person by id. */
export const loadUser = batched(async (em, ids) => byKey(await em.find(User, { id: { $in: ids } }), ({ id }) => id))

const byKey = <Value>(values: Value[], keyOf: (value: Value) => string): ReadonlyMap<string, Value> =>
  new Map(values.map((value) => [keyOf(value), value]))
