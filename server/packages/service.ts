import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audienceOf } from '../access/audience.ts'
import { batched } from '../db/batched.ts'
import type { Context } from '../access/context.ts'
import { User } from '../users/entity.ts'
import { Package, PackageUploader, PackageVersion } from './entity.ts'
import { hostedHere } from './hosting/hosted-here.ts'
import { isListed, hasPublicVersion, listed, isPublicPackage } from './policy.ts'

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>
type Page = { limit: number; after?: string | undefined; offset?: number | undefined }

/** What is there for whoever asks. */
const thereFor = (reader: Omit<Reader, 'em'>, condition = hasPublicVersion): FilterQuery<Package> =>
  audienceOf(reader) === 'members' ? {} : { [raw((alias) => condition(alias), [hostedHere(reader.config)])]: [] }

/** SQL: the same for lists. Search knows it of most packages, and to look at the versions of all of them takes seconds. Takes `hostedHere`. */
const isListedPublicly = (alias: string): string =>
  `(${isPublicPackage(alias)} and (exists (select 1 from package_search_documents s where s.package_id = ${alias}.id and s.shown_to = 2) or ${hasPublicVersion(alias)}))`

/** The package of this name, or null when it is not there for whoever asks. */
export const findPackage = (reader: Reader, name: string): Promise<Package | null> =>
  reader.em.findOne(Package, { $and: [{ name }, thereFor(reader)] })

/** Listed packages by name; `after` is the name of the last one of the page before. */
export function listPackages(reader: Reader, { limit, after, offset }: Page): Promise<Package[]> {
  return reader.em.find(
    Package,
    { $and: [{ ...listed, ...(after !== undefined && { name: { $gt: after } }) }, thereFor(reader, isListedPublicly)] },
    { orderBy: { name: 'asc' }, limit, ...(offset && { offset }) },
  )
}

export const countReadablePackages = (reader: Reader): Promise<number> =>
  reader.em.count(Package, { $and: [listed, thereFor(reader, isListedPublicly)] })

/** All names, in order. */
export async function listPackageNames(
  reader: Pick<Context, 'database' | 'viewer' | 'config'>,
  { withUnlisted }: { withUnlisted: boolean },
): Promise<string[]> {
  const isMember = audienceOf(reader) === 'members'
  const conditions = [...(withUnlisted ? [] : [isListed('p')]), ...(isMember ? [] : [isListedPublicly('p')])]
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  const rows = await reader.database.heavyReads.all<{ name: string }>(
    `select p.name from packages p ${where} order by p.name`,
    ...(isMember ? [] : [hostedHere(reader.config)]),
  )
  return rows.map(({ name }) => name)
}

/** A package by id, or null when it is not there for whoever asks. */
export const findPackageById = (reader: Reader, id: string): Promise<Package | null> =>
  reader.em.findOne(Package, { $and: [{ id }, thereFor(reader)] })

/** The version whose archive this is, or null. An archive names its package and version, so it can be no other's. */
export const findVersionByArchive = (em: EntityManager, sha256: string): Promise<PackageVersion | null> =>
  em.findOne(PackageVersion, { archiveSha256: sha256 })

/** A package by name, or null when it is not there for whoever asks; gathered into one query for all of a request. */
export async function loadReadablePackage(reader: Reader, name: string): Promise<Package | null> {
  const pkg = await loadPackageByName(reader, name)
  if (!pkg || audienceOf(reader) === 'members') return pkg
  return (await loadIsThere(reader, `${pkg.id} ${hostedHere(reader.config)}`)) ? pkg : null
}

const loadIsThere = batched(async (em, keys) => {
  const ids = keys.map((key) => key.split(' ')[0] ?? '')
  const hosted = keys[0]?.split(' ')[1] ?? ''
  const rows = await em.execute<{ id: string }[]>(
    `select p.id from packages p where ${hasPublicVersion('p')} and p.id in (${ids.map(() => '?').join(', ')})`,
    [hosted, ...ids],
  )
  return new Map(rows.map(({ id }) => [`${id} ${hosted}`, true]))
})

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

const byKey = <Value>(values: Value[], keyOf: (value: Value) => string): ReadonlyMap<string, Value> =>
  new Map(values.map((value) => [keyOf(value), value]))
