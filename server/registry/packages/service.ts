import type { FilterQuery } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { type Expression, expressionBuilder } from 'kysely'
import { audienceOf } from '../../platform/access/audience.ts'
import { batched, findEach, readEach } from '../../platform/db/batched.ts'
import type { Context } from '../../platform/access/context.ts'
import { User } from '../../accounts/users/entity.ts'
import { Package, PackageUploader, PackageVersion } from './entity.ts'
import { hostedHere } from './hosting.ts'
import { type Condition, isListed, isPartlyPublic, isPublic, isPublisherOf, isPublisherOfEach } from './conditions.ts'
import { listed } from './policy.ts'
import { anyText, beyond, type Direction, inOrderOf, type PageArguments, pageByKey, type Sort } from '../../platform/graphql/connections.ts'
import { columnsOf, db, filterBy, type Tables } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Publisher } from '../publishers/entity.ts'
import { countByPublisher } from '../publishers/list.ts'

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>

/** Returns a filter for packages that exist for the caller. For the public audience, packages without a readable version do not exist. */
const existsFor = (reader: Omit<Reader, 'em'>, condition = isPartlyPublic): FilterQuery<Package> =>
  audienceOf(reader) === 'members'
    ? {}
    : filterBy('packages', (p) => condition({ id: p('id'), visibility: p('visibility') }, hostedHere(reader.config)))

const eb = expressionBuilder<Tables>()

/** `isPartlyPublic` for lists. The search index records it for most packages (`shown_to = 2`), which is faster. */
const isListedPublicly: typeof isPartlyPublic = (pkg, here) =>
  eb.and([isPublic(pkg.visibility), eb.or([isShownToEveryone(pkg.id), isPartlyPublic(pkg, here)])])

const isShownToEveryone = (packageId: Expression<string>): Condition =>
  eb.exists(
    db
      .selectFrom('package_search_documents as s')
      .select(eb.lit(1).as('one'))
      .where('s.package_id', '=', packageId)
      .where((s) => s('s.shown_to', '=', s.lit(2))),
  )

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
  const rows = await reader.database.reads.all(
    db
      .selectFrom('packages as p')
      .select('p.name')
      .$if(!withUnlisted, (query) => query.where((p) => isListed(p.ref('p.is_unlisted'))))
      .$if(audienceOf(reader) !== 'members', (query) =>
        query.where((p) => isListedPublicly({ id: p.ref('p.id'), visibility: p.ref('p.visibility') }, hostedHere(reader.config))),
      )
      .orderBy('p.name'),
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
  const rows = await readRows(
    em,
    db
      .selectFrom('packages as p')
      .select('p.id')
      .where((p) => isPartlyPublic({ id: p.ref('p.id'), visibility: p.ref('p.visibility') }, hosted))
      .where('p.id', 'in', ids),
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
export async function listOwnPackages(em: EntityManager, userId: string, sort: Sort<OwnOrder>, page: PageArguments, many = manyPackages) {
  const total = await countOwnPackages(em, userId)
  const own = { userId, hasMany: total > many, direction: sort.direction }
  const count = async () => total
  return pageByKey(page, { ...(sort.by === 'published' ? loadByPublication(em, own) : loadByName(em, own)), count })
}

async function countOwnPackages(em: EntityManager, userId: string): Promise<number> {
  const count = eb.fn.countAll<number>().as('total')
  const uploaded = db.selectFrom('package_uploaders as u').where('u.user_id', '=', userId)
  const ofPublishers = db
    .selectFrom('packages as p')
    .select(count)
    .where('p.publisher_id', 'in', db.selectFrom('publisher_members').select('publisher_id').where('user_id', '=', userId))
    .where((p) => p.not(p.exists(uploaded.select(p.lit(1).as('one')).where('u.package_id', '=', p.ref('p.id')))))
  const query = db.selectNoFrom(eb(uploaded.select(count), '+', ofPublishers).as('total')).$castTo<{ total: number }>()
  const [row] = await readEach(em, { query })
  return row?.total ?? 0
}

type OwnList = { userId: string; hasMany: boolean; direction: Direction }

function loadByName(em: EntityManager, { userId, hasMany, direction }: OwnList) {
  const isOwn = hasMany ? isPublisherOfEach : isPublisherOf
  return {
    keyOf: ({ name }: Package) => name,
    isKey: anyText,
    load: (limit: number, after: string | undefined) => {
      const own = filterBy<Package, 'packages'>('packages', (p) => isOwn(userId, { id: p('id'), publisherId: p('publisher_id') }))
      const later = after === undefined ? {} : { name: { [beyond[direction]]: after } }
      return findEach(em, Package, { $and: [own, later] }, { orderBy: { name: direction }, limit })
    },
  }
}

/** Sorts by the newest publication, which the search index stores. The few packages that are not indexed yet count as the oldest. */
function loadByPublication(em: EntityManager, own: OwnList) {
  const keys = new Map<string, string>()
  const { hasMany, direction } = own
  const order = `at ${direction}, document ${direction}, id ${direction}`
  async function read(limit: number, after: Place | undefined) {
    const isAscending = direction === 'asc'
    // Ascending, the packages that are not indexed come first.
    if (hasMany && (isAscending ? (after?.document ?? 0) : after?.document) !== 0) {
      const rows = await readEach(em, { query: ownDocuments(own, after).limit(limit), order })
      if (isAscending || rows.length === limit) return rows
    }
    return readEach(em, { query: ownByPublication(own, after).limit(limit), order })
  }
  return {
    keyOf: ({ id }: Package) => keys.get(id) ?? '',
    isKey: (key: string) => /^\d{1,15} \d{1,15} [\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(key),
    load: async (limit: number, after: string | undefined) => {
      const [at, document, id = ''] = after?.split(' ') ?? []
      const rows = await read(limit, after === undefined ? undefined : { at: Number(at), document: Number(document), id })
      for (const { id, at, document } of rows) keys.set(id, `${at} ${document} ${id}`)
      const found = await Promise.all(rows.map((row) => loadPackage({ em }, row.id)))
      return found.filter((pkg) => pkg !== null)
    },
  }
}

/** A place in the order of publication: the time, the search document and the package. A package that is not indexed has zeros. */
type Place = { at: number; document: number; id: string }

/** Selects the user's indexed packages, in the order of an index of the documents. */
const ownDocuments = ({ userId, direction }: OwnList, after: Place | undefined) =>
  db
    .selectFrom('package_search_documents as d')
    .leftJoin('packages as p', 'p.id', 'd.package_id')
    .select(['d.package_id as id', 'd.published_at as at', 'd.id as document'])
    .where(isPublisherOfEach(userId, { id: own('id'), publisherId: own('publisher_id') }))
    .$if(after !== undefined, (query) =>
      query.where((d) => d(d.refTuple('d.published_at', 'd.id'), later[direction], d.tuple(after?.at ?? 0, after?.document ?? 0))),
    )
    .orderBy('d.published_at', direction)
    .orderBy('d.id', direction)

const later = { asc: '>', desc: '<' } as const

const ownByPublication = ({ userId, direction }: OwnList, after: Place | undefined) =>
  db
    .selectFrom('packages as p')
    .leftJoin('package_search_documents as d', 'd.package_id', 'p.id')
    .select((d) => ['p.id', d.fn.coalesce('d.published_at', d.lit(0)).as('at'), d.fn.coalesce('d.id', d.lit(0)).as('document')])
    .where(isPublisherOf(userId, { id: own('id'), publisherId: own('publisher_id') }))
    .$if(after !== undefined, (query) =>
      query.where((d) => {
        const place = d.tuple(d.fn.coalesce('d.published_at', d.lit(0)), d.fn.coalesce('d.id', d.lit(0)), d.ref('p.id'))
        return d(place, later[direction], d.tuple(after?.at ?? 0, after?.document ?? 0, after?.id ?? ''))
      }),
    )
    .orderBy('at', direction)
    .orderBy('document', direction)
    .orderBy('p.id', direction)

const own = columnsOf('packages', 'p')

/** Loads whether users have published versions of packages that they can publish to. Needs no index on who published a version. */
export const loadHasPublished = async (request: { em: EntityManager }, userId: string): Promise<boolean> =>
  (await loadPublished(request, userId)) ?? false

const loadPublished = batched(async (em, userIds) => {
  const users = db.selectFrom('users as u').select('u.id').where('u.id', 'in', userIds)
  const published = db.selectFrom('packages as p').innerJoin('package_versions as v', 'v.package_id', 'p.id').select(eb.lit(1).as('one'))
  const rows = await readRows(
    em,
    users.where((u) => {
      const isOwn = isPublisherOf(u.ref('u.id'), { id: own('id'), publisherId: own('publisher_id') })
      return u.exists(published.where('v.published_by_id', '=', u.ref('u.id')).where(isOwn))
    }),
  )
  return new Map(rows.map(({ id }) => [id, true]))
})

/** Returns a publisher's packages ordered by name, as a connection. Unlisted packages are included only if `seesUnlisted`. */
export const listPublisherPackages = (em: EntityManager, { id }: Publisher, seesUnlisted: boolean, page: PageArguments) =>
  inOrderOf(em, Package, 'name', { publisher: id, ...(!seesUnlisted && listed) }, page)

/** Loads the number of packages that a publisher owns, by its id: all of them, or only listed ones. */
export const countAllPackages = batched((em, ids) => countByPublisher(em, ids))
export const countListedPackages = batched((em, ids) => countByPublisher(em, ids, { isListed: true }))
