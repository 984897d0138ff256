import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../db/batched.ts'
import type { Context } from '../access/context.ts'
import { User } from '../users/entity.ts'
import { Package, PackageUploader, PackageVersion } from './entity.ts'

type Reader = Pick<Context, 'em' | 'viewer'>
type Page = { limit: number; after?: string | undefined; offset?: number | undefined }

/** The package of this name, or null when it is not there for whoever asks. */
export const findPackage = ({ em, viewer }: Reader, name: string): Promise<Package | null> =>
  em.findOne(Package, { name, ...readableBy(viewer) })

/** What lists show: unlisted packages are found by name only. */
const listed = { isUnlisted: false }

/** Listed packages by name; `after` is the name of the last one of the page before. */
export function listPackages({ em, viewer }: Reader, { limit, after, offset }: Page): Promise<Package[]> {
  return em.find(
    Package,
    { ...listed, ...(after !== undefined && { name: { $gt: after } }), ...readableBy(viewer) },
    { orderBy: { name: 'asc' }, limit, ...(offset && { offset }) },
  )
}

export const countPackages = ({ em, viewer }: Reader): Promise<number> => em.count(Package, { ...listed, ...readableBy(viewer) })

/** All names, in order. */
export async function listPackageNames(
  { database, viewer }: Pick<Context, 'database' | 'viewer'>,
  { withUnlisted }: { withUnlisted: boolean },
): Promise<string[]> {
  const which = [...(withUnlisted ? [] : ['not is_unlisted']), ...(viewer ? [] : ["visibility = 'public'"])].join(' and ')
  const rows = await database.reads.all<{ name: string }>(`select name from packages ${which && `where ${which}`} order by name`)
  return rows.map(({ name }) => name)
}

/** A package by id, or null when it is not there for whoever asks. */
export const findPackageById = ({ em, viewer }: Reader, id: string): Promise<Package | null> =>
  em.findOne(Package, { id, ...readableBy(viewer) })

/** The version whose archive this is, or null. An archive names its package and version, so it can be no other's. */
export const findVersionByArchive = (em: EntityManager, sha256: string): Promise<PackageVersion | null> =>
  em.findOne(PackageVersion, { archiveSha256: sha256 })

/** A package by id. */
export const loadPackage = batched(async (em, ids) => byKey(await em.find(Package, { id: { $in: ids } }), ({ id }) => id))

/** A package by name. */
export const loadPackageByName = batched(async (em, names) => byKey(await em.find(Package, { name: { $in: names } }), ({ name }) => name))

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

/** Whoever did not sign in reads public packages only. */
const readableBy = (viewer: Context['viewer']) => (viewer ? {} : { visibility: 'public' as const })

const byKey = <Value>(values: Value[], keyOf: (value: Value) => string): ReadonlyMap<string, Value> =>
  new Map(values.map((value) => [keyOf(value), value]))
