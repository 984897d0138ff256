import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { InferResult } from 'kysely'
import { readEach } from '../../../platform/db/batched.ts'
import { db, prepared } from '../../../platform/db/query.ts'
import { inOwnMemory } from '../../../platform/caches/retained-bytes.ts'
import { publicUrl } from '../../../platform/http/public-url.ts'
import type { Services } from '../../../services.ts'
import type { Context } from '../../../platform/access/context.ts'
import type { Package } from '../entity.ts'
import { type Audience, audienceOf } from '../../../platform/access/audience.ts'
import { hostedHere } from '../hosting.ts'
import { isPartlyPublic, isPublic, isVersionPublic } from '../conditions.ts'
import { loadWithheld, readWithheld, withoutNames, visibilityMark } from '../visibility.ts'
import { writeEntry, listingEtag, writeListing } from '../../../platform/pub/listing.ts'
import { latestOf } from '../versions/latest.ts'

/** A compressed package listing. */
type Listing = Stamp & { etag: string; gzipped: Buffer }

declare module '../../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Package listings by package, audience and server URL. */
    listings: Listing
  }
}

declare module '../../../services.ts' {
  interface State {
    /** Listings that are being built. Concurrent requests share one build. */
    listings?: Map<string, Promise<Listing | null>>
  }
}

/**
 * State that a listing shows at least, to validate the cache. It is read before the listing is written: a listing that is newer than its stamp is
 * written again at the next request. `mark` changes whenever the visibility of any package does.
 */
type Stamp = { revision: number; mark?: string | null }

/** Services, and the base URL for archive links (`publicUrl`). */
type Reader = Pick<Services, 'caches' | 'database' | 'config' | 'state'> & { serverUrl: string }

/** Returns the services for a caller. Archive URLs start with the server URL that the client used: package clients send their token only there. */
export const readerOf = ({ caches, database, config, state, request }: Context): Reader => ({
  caches,
  database,
  config,
  state,
  serverUrl: publicUrl(request, config.SERVER_URL),
})

/**
 * Returns the listing of a package (pub's protocol, "Listing"), or null if the package does not exist for this audience. `write` returns its text,
 * which is compressed once per revision, audience and server URL.
 */
export async function readListing(
  reader: Reader,
  name: string,
  audience: Audience,
  write: () => Promise<string | null>,
): Promise<Listing | null> {
  const {
    caches: { listings },
    database,
    state,
  } = reader
  const current: (Stamp & { id: string }) | undefined = await database.reads.recall(stamps[audience], name)
  if (!current) return null
  const seen = audience === 'members' ? current.id : `public ${current.id}`
  const cacheKey = reader.serverUrl === reader.config.SERVER_URL ? seen : `${reader.serverUrl} ${seen}`
  const cached = listings.get(cacheKey)
  if (cached?.revision === current.revision && cached.mark === current.mark) return cached
  const key = `${cacheKey} ${current.revision} ${current.mark}`
  const building = (state.listings ??= new Map<string, Promise<Listing | null>>())
  let build = building.get(key)
  if (!build) building.set(key, (build = compressListing(current, write).finally(() => building.delete(key))))
  const listing = await build
  if (listing) listings.set(cacheKey, listing)
  return listing
}

/** Returns one version's entry of the listing as JSON text, or null. */
export async function readEntry(
  { database, config, serverUrl }: Reader,
  name: string,
  version: string,
  audience: Audience,
): Promise<string | null> {
  if (audience === 'members') {
    const row = await database.reads.get(entryByVersion, name, version)
    return row ? entryOf(row, name, serverUrl) : null
  }
  const hosted = hostedHere(config)
  const row = await database.reads.get(publicEntryByVersion, name, version, hosted)
  if (!row) return null
  const { names } = await readWithheld(database.reads, row.package_id, hosted)
  return entryOf({ ...row, pubspec: withoutNames(row.pubspec, names.get(row.id)) }, name, serverUrl)
}

const selectEntries = () =>
  db
    .selectFrom('package_versions as v')
    .innerJoin('packages as p', 'p.id', 'v.package_id')
    .select(['v.id', 'v.package_id', 'v.version', 'v.retracted_at', 'v.archive_sha256', 'v.pubspec', 'v.created_at'])

type EntryRow = InferResult<ReturnType<typeof selectEntries>>[number]

const entryOfVersion = (name: string, version: string) => selectEntries().where('p.name', '=', name).where('v.version', '=', version)
const entryByVersion = prepared(entryOfVersion)
const publicEntryByVersion = prepared((name: string, version: string, hosted: string) =>
  entryOfVersion(name, version).where((eb) => isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), hosted)),
)

const stampOf = (name: string) => db.selectFrom('packages as p').select(['p.id', 'p.revision']).where('p.name', '=', name)
const stamps = {
  members: prepared(stampOf),
  public: prepared((name: string) =>
    stampOf(name)
      .select((eb) => eb.selectFrom('server_settings').select('value').where('key', '=', visibilityMark.key).as('mark'))
      .where((eb) => isPublic(eb.ref('p.visibility'))),
  ),
}

type ListingRow = InferResult<ReturnType<typeof selectListing>>[number]

/** Selects a package's versions with its options. The public sees only public packages of this server as replacements. */
const selectListing = (packageId: string, audience: Audience, hosted: string) =>
  selectEntries()
    .select(['v.sort_key', 'p.latest_version', 'p.is_discontinued', 'p.advisories_updated'])
    .select((eb) => {
      const isReadable = eb.exists(
        eb
          .selectFrom('packages as r')
          .select(eb.lit(1).as('one'))
          .whereRef('r.name', '=', 'p.replaced_by')
          .where((r) => isPartlyPublic({ id: r.ref('r.id'), visibility: r.ref('r.visibility') }, hosted)),
      )
      const readable = eb.case().when(isReadable).then(eb.ref('p.replaced_by')).end()
      return (audience === 'members' ? eb.ref('p.replaced_by') : readable).as('replaced_by')
    })
    .where('v.package_id', '=', packageId)
    .orderBy('v.sort_key')

async function compressListing({ revision, mark }: Stamp, write: () => Promise<string | null>): Promise<Listing | null> {
  const text = await write()
  if (text === null) return null
  return { revision, ...(mark !== undefined && { mark }), etag: listingEtag(text), gzipped: await compress(text) }
}

/**
 * Returns the listing as JSON text, or null if the package has no version for the caller. All versions come from one statement, so they are consistent.
 * Batched per request.
 */
export async function listingText(context: Context, { id, name }: Pick<Package, 'id' | 'name'>): Promise<string | null> {
  const [{ serverUrl }, audience] = [readerOf(context), audienceOf(context)]
  const all = await readEach(context.em, { query: selectListing(id, audience, hostedHere(context.config)), order: 'sort_key' })
  const rows = audience === 'members' ? all : await readableRows(context, id, all)
  const entries = rows.map((row) => entryOf(row, name, serverUrl))
  if (!rows[0]) return null
  const latest = entries[rows.findIndex((row) => row.version === row.latest_version && row.retracted_at === null)]
  const text = writeListing({ name, ...optionsOf(rows[0]) }, entries, latest)
  context.budget?.spendText(Buffer.byteLength(text))
  return text
}

/** Returns the rows that the public can read, with the latest version among them. */
async function readableRows(context: Context, packageId: string, all: ListingRow[]): Promise<ListingRow[]> {
  const { versions, names } = await loadWithheld(context, packageId)
  const rows = all.filter(({ id }) => !versions.has(id))
  const latest = latestOf(rows.map(({ version, retracted_at }) => ({ version, retracted: retracted_at !== null })))
  return rows.map((row) => ({ ...row, pubspec: withoutNames(row.pubspec, names.get(row.id)), latest_version: latest?.version ?? '' }))
}

const optionsOf = ({ is_discontinued, replaced_by, advisories_updated }: ListingRow) => ({
  isDiscontinued: is_discontinued,
  replacedBy: replaced_by,
  advisoriesUpdated: advisories_updated?.toISOString() ?? null,
})

const entryOf = ({ version, retracted_at, archive_sha256, pubspec, created_at }: EntryRow, name: string, serverUrl: string): string =>
  writeEntry(
    { version, retracted: retracted_at !== null, sha256: archive_sha256, pubspec, published: created_at.toISOString() },
    name,
    serverUrl,
  )

const zip = promisify<string, Buffer>(gzip)
/** zlib returns a slice of a buffer of at least 16 KB, which the cache would keep alive; copy the result. */
const compress = async (text: string): Promise<Buffer> => inOwnMemory(await zip(text))
