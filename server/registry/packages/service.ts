import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audienceOf } from '../../platform/access/audience.ts'
import { batched, findEach, readEach } from '../../platform/db/batched.ts'
import type { Context } from '../../platform/access/context.ts'
import { User } from '../../accounts/users/entity.ts'
import { Package, PackageUploader, PackageVersion } from './entity.ts'
import { hostedHere } from './hosting.ts'
import { isListed, hasPublicVersion, listed, isPublicPackage, isPublishedBy, isPublishedByEach } from './policy.ts'
import { anyText, inOrderOf, type PageArguments, pageByKey } from '../../platform/graphql/connections.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Publisher } from '../publishers/entity.ts'
import { countByPublisher } from '../publishers/list.ts'

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>

/** Returns a filter for packages that exist for the caller. For the public audience, packages without a readable version do not exist. */
const existsFor = (reader: Omit<Reader, 'em'>, condition = hasPublicVersion): FilterQuery<Package> =>
  audienceOf(reader) === 'members' ? {} : { [raw((alias) => condition(alias), [hostedHere(reader.config)])]: [] }

/** `hasPublicVersion` for lists. The search index records it for most packages (`shown_to = 2`), which is faster. Binds `hostedHere`. */
const isListedPublicly = (alias: string): string =>
  `(${isPublicPackage(alias)} and (exists (select 1 from package_search_documents s where s.package_id = ${alias}.id and s.shown_to = 2) or ${hasPublicVersion(alias)}))`

/** Returns the package with this name, or null if it does not exist for the caller. */
export const findPackage = (reader: Reader, name: string): Promise<Package | null> =>
  reader.em.findOne(Package, { $and: [{ name }, existsFor(reader)] })

/** Returns the packages that the caller may see, without unlisted ones, ordered by name, as a connection. */
export const listPackages = (reader: Reader, page: Parameters<typeof inOrderOf>[4]) =>
  inOrderOf<'name', Package>(reader.em, Package, 'name', { $and: [listed, existsFor(reader, isListedPublicly)] }, page)

/** Returns the names of packages that exist for the caller, in order. */
export async function listPackageNames(
  reader: Pick<Context, 'database' | 'viewer' | 'config'>,
  { withUnlisted }: { withUnlisted: boolean },
): Promise<string[]> {
  const isMember = audienceOf(reader) === 'members'
  const conditions = [...(withUnlisted ? [] : [isListed('p')]), ...(isMember ? [] : [isListedPublicly('p')])]
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  const rows = await reader.database.reads.all<{ name: string }>(
    `select p.name from packages p ${where} order by p.name`,
    ...(isMember ? [] : [hostedHere(reader.config)]),
  )
  return rows.map(({ name }) => name)
}

/** Returns the package with this id, or null if it does not exist for the caller. */
export const findPackageById = (reader: Reader, id: string): Promise<Package | null> =>
  reader.em.findOne(Package, { $and: [{ id }, existsFor(reader)] })

/** Returns the version with this archive, or null. Archives contain the package name and version, so at most one version matches. */
export const findVersionByArchive = (em: EntityManager, sha256: string): Promise<PackageVersion | null> =>
  em.findOne(PackageVersion, { archiveSha256: sha256 })

/** Returns the package with this name, or null if it does not exist for the caller. Batched per request. */
export async function loadReadablePackage(reader: Reader, name: string): Promise<Package | null> {
  const pkg = await loadPackageByName(reader, name)
  if (!pkg || audienceOf(reader) === 'members') return pkg
  return (await loadHasPublicVersion(reader, `${pkg.id} ${hostedHere(reader.config)}`)) ? pkg : null
}

const loadHasPublicVersion = batched(async (em, keys) => {
  const ids = keys.map((key) => key.split(' ')[0] ?? '')
  const hosted = keys[0]?.split(' ')[1] ?? ''
  const rows = await em.execute<{ id: string }[]>(
    `select p.id from packages p where ${hasPublicVersion('p')} and p.id in (${ids.map(() => '?').join(', ')})`,
    [hosted, ...ids],
  )
  return new Map(rows.map(({ id }) => [`${id} ${hosted}`, true]))
})

export const loadPackage = batched(async (em, ids) => byKey(await em.find(Package, { id: { $in: ids } }), ({ id }) => id))

export const loadPackageByName = batched(async (em, names) => byKey(await em.find(Package, { name: { $in: names } }), ({ name }) => name))

/** Loads a package's uploaders by package id, ordered by display name. */
export const loadUploaders = batched(async (em, packageIds) => {
  const rows = await em.find(
    PackageUploader,
    { package: { $in: packageIds } },
    { populate: ['user'], orderBy: { user: { displayName: 'asc', id: 'asc' } } },
  )
  return Map.groupBy(rows, (row) => row.package.id) as ReadonlyMap<string, (PackageUploader & { user: User })[]>
})

const byKey = <Value>(values: Value[], keyOf: (value: Value) => string): ReadonlyMap<string, Value> =>
  new Map(values.map((value) => [keyOf(value), value]))

export type OwnOrder = 'name' | 'published'

/** Number of packages above which checking packages in the order of the list is cheaper than sorting those of the user. */
const manyPackages = 2000

/** Returns the packages that a user can publish to, as an uploader or as a member of the owning publisher, as a connection. */
export async function listOwnPackages(em: EntityManager, userId: string, order: OwnOrder, page: PageArguments, many = manyPackages) {
  const total = await countOwnPackages(em, userId)
  const count = async () => total
  const load = order === 'published' ? loadByPublication(em, userId, total > many) : loadByName(em, userId, total > many)
  return pageByKey(page, { ...load, count })
}

async function countOwnPackages(em: EntityManager, userId: string): Promise<number> {
  const ofPublishers = `select count(*) from packages p where p.publisher_id in (select publisher_id from publisher_members where user_id = ?)
    and not exists (select 1 from package_uploaders u where u.package_id = p.id and u.user_id = ?)`
  const sql = `select (select count(*) from package_uploaders where user_id = ?) + (${ofPublishers}) as total`
  const [row] = await readEach<{ total: number | string }>(em, { sql, values: [userId, userId, userId] })
  return Number(row?.total)
}

function loadByName(em: EntityManager, userId: string, hasMany: boolean) {
  const condition = hasMany ? isPublishedByEach : isPublishedBy
  return {
    keyOf: ({ name }: Package) => name,
    isKey: anyText,
    load: (limit: number, after: string | undefined) => {
      const own: FilterQuery<Package> = { [raw((alias) => condition(alias), [userId, userId])]: [] }
      const later = after === undefined ? {} : { name: { $gt: after } }
      return findEach(em, Package, { $and: [own, later] }, { orderBy: { name: 'asc' }, limit })
    },
  }
}

/** Sorts by the newest publication, which the search index stores. The few packages that are not indexed yet come last. */
function loadByPublication(em: EntityManager, userId: string, hasMany: boolean) {
  const keys = new Map<string, string>()
  async function newest(limit: number, after: string | undefined): Promise<Published[]> {
    const [at = '', document = '', id = ''] = after?.split(' ') ?? []
    if (hasMany && document !== '0') {
      const beyond = after === undefined ? '' : 'and (d.published_at, d.id) < (?, ?)'
      const sql = `select p.id, d.published_at as at, d.id as document from package_search_documents d left join packages p on p.id = d.package_id
        where ${isPublishedByEach('p')} ${beyond} order by d.published_at desc, d.id desc limit ?`
      const values = [userId, userId, ...(after === undefined ? [] : [Number(at), Number(document)]), limit]
      const rows = await readEach<Published>(em, { sql, values, order: 'at desc, document desc' })
      if (rows.length === limit) return rows
    }
    const place = 'coalesce(d.published_at, 0), coalesce(d.id, 0), p.id'
    const beyond = after === undefined ? '' : `and (${place}) < (?, ?, ?)`
    const sql = `select p.id, coalesce(d.published_at, 0) as at, coalesce(d.id, 0) as document
      from packages p left join package_search_documents d on d.package_id = p.id
      where ${isPublishedBy('p')} ${beyond} order by 2 desc, 3 desc, p.id desc limit ?`
    const values = [userId, userId, ...(after === undefined ? [] : [Number(at), Number(document), id]), limit]
    return readEach<Published>(em, { sql, values, order: 'at desc, document desc, id desc' })
  }
  return {
    keyOf: ({ id }: Package) => keys.get(id) ?? '',
    isKey: (key: string) => /^\d{1,15} \d{1,15} [\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(key),
    load: async (limit: number, after: string | undefined) => {
      const rows = await newest(limit, after)
      for (const { id, at, document } of rows) keys.set(id, `${at} ${document} ${id}`)
      const found = await Promise.all(rows.map((row) => loadPackage({ em }, row.id)))
      return found.filter((pkg) => pkg !== null)
    },
  }
}

type Published = { id: string; at: number | string; document: number | string }

/** Loads whether users have published versions of packages that they can publish to. Needs no index on who published a version. */
export const loadHasPublished = async (request: { em: EntityManager }, userId: string): Promise<boolean> =>
  (await loadPublished(request, userId)) ?? false

const loadPublished = batched(async (em, userIds) => {
  const hasPublished = `exists (select 1 from packages p join package_versions v on v.package_id = p.id and v.published_by_id = u.id
    where p.id in (select package_id from package_uploaders where user_id = u.id)
      or p.publisher_id in (select publisher_id from publisher_members where user_id = u.id))`
  const rows = await readRows<{ id: string }>(
    em,
    `select u.id from users u where u.id in (${userIds.map(() => '?').join(', ')}) and ${hasPublished}`,
    userIds,
  )
  return new Map(rows.map(({ id }) => [id, true]))
})

/** Returns a publisher's packages ordered by name, as a connection. Unlisted packages are included only if `seesUnlisted`. */
export const listPublisherPackages = (em: EntityManager, { id }: Publisher, seesUnlisted: boolean, page: PageArguments) =>
  inOrderOf(em, Package, 'name', { publisher: id, ...(!seesUnlisted && listed) }, page)

/** Loads the number of packages that a publisher owns, by its id: all of them, or only listed ones. */
export const countAllPackages = batched((em, ids) => countByPublisher(em, ids))
export const countListedPackages = batched((em, ids) => countByPublisher(em, ids, { isListed: true }))
