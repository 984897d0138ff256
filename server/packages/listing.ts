import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { toDate } from '../db/reads.ts'
import { byteCache, type ByteCache } from '../http/byte-cache.ts'
import type { Services } from '../services.ts'

/** A package's listing as it goes out. The ETag is weak: it stands for the plain and the compressed form. */
export type Listing = { revision: number; etag: string; gzipped: Buffer }

type Reader = Pick<Services, 'database' | 'config'>

/**
 * The listing of a package (pub's protocol, "Listing"), or null for an unknown one. One keyed read tells the revision; the document is
 * assembled and compressed once per revision.
 */
export async function readListing(reader: Reader, name: string): Promise<Listing | null> {
  const { database, config } = reader
  const current = await database.reads.recall<{ id: string; revision: number }>('select id, revision from packages where name = ?', name)
  if (!current) return null
  const { cache, building } = memoryOf(database)
  const cached = cache.get(current.id)
  if (cached?.revision === current.revision) return cached
  const key = `${current.id} ${current.revision}`
  let build = building.get(key)
  if (!build) {
    building.set(key, (build = buildListing(reader, current.id, name, config.SERVER_URL).finally(() => building.delete(key))))
  }
  const listing = await build
  if (listing) cache.set(current.id, listing)
  return listing
}

/** One version's entry of the listing as JSON text, or null. */
export async function readEntry({ database, config }: Reader, name: string, version: string): Promise<string | null> {
  const row = await database.reads.get<EntryRow>(
    `select ${entryColumns} from ${versionsOfPackages} where p.name = ? and v.version = ?`,
    name,
    version,
  )
  return row ? entryOf(row, name, config.SERVER_URL) : null
}

/** Where the archive of a version is. `+` needs no escaping in a path (RFC 3986 §3.3). */
export const archiveUrl = (serverUrl: string, name: string, version: string): string =>
  `${serverUrl}/api/archives/${name}-${version}.tar.gz`

type EntryRow = { version: string; retracted_at: number | Date | null; archive_sha256: string; pubspec: string; created_at: number | Date }
type ListingRow = EntryRow & {
  revision: number
  latest_version: string
  is_discontinued: boolean | number
  replaced_by: string | null
}

const versionsOfPackages = 'package_versions v join packages p on p.id = v.package_id'
const entryColumns = 'v.version, v.retracted_at, v.archive_sha256, v.pubspec, v.created_at'

/** Revision, pointer and versions come from one statement, so they fit each other. */
async function buildListing({ database }: Reader, packageId: string, name: string, serverUrl: string): Promise<Listing | null> {
  const rows = await database.reads.all<ListingRow>(
    `select ${entryColumns}, p.revision, p.latest_version, p.is_discontinued, p.replaced_by from ${versionsOfPackages} where v.package_id = ? order by v.sort_key`,
    packageId,
  )
  const entries = rows.map((row) => entryOf(row, name, serverUrl))
  const latest = entries[rows.findIndex((row) => row.version === row.latest_version)]
  if (!rows[0] || latest === undefined) return null
  const text = `{"name":${JSON.stringify(name)},${optionsOf(rows[0])}"latest":${latest},"versions":[${entries.join(',')}]}`
  const etag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  return { revision: rows[0].revision, etag, gzipped: await compress(text) }
}

/** Members of the listing that are there only when they apply (pub's protocol, "Listing"). */
function optionsOf({ is_discontinued, replaced_by }: ListingRow): string {
  if (!is_discontinued) return ''
  return `"isDiscontinued":true,${replaced_by === null ? '' : `"replacedBy":${JSON.stringify(replaced_by)},`}`
}

/** The pubspec is JSON text already. Optional members are left out, never null: one wrong type breaks the listing for the client. */
function entryOf(row: EntryRow, name: string, serverUrl: string): string {
  const retracted = row.retracted_at === null ? '' : '"retracted":true,'
  const url = JSON.stringify(archiveUrl(serverUrl, name, row.version))
  const published = toDate(row.created_at).toISOString()
  return `{"version":"${row.version}",${retracted}"archive_url":${url},"archive_sha256":"${row.archive_sha256}","pubspec":${row.pubspec},"published":"${published}"}`
}

const compress = promisify<string, Buffer>(gzip)

type Memory = { cache: ByteCache<Listing>; building: Map<string, Promise<Listing | null>> }

const memories = new WeakMap<Services['database'], Memory>()

/** The cache beside a database; several servers in one process have several. */
function memoryOf(database: Services['database']): Memory {
  let memory = memories.get(database)
  if (!memory) memories.set(database, (memory = { cache: byteCache(cacheBytes, ({ gzipped }) => gzipped.length), building: new Map() }))
  return memory
}

const cacheBytes = 64 * 1024 ** 2
