import type { Readable } from 'node:stream'
import type { StoredBytes } from '../../../platform/blobs/store.ts'
import { db, prepared } from '../../../platform/db/query.ts'
import { inOwnMemory } from '../../../platform/caches/retained-bytes.ts'
import type { Services } from '../../../services.ts'
import { type Audience, isBrowsingOn } from '../../../platform/access/audience.ts'
import { archiveFile } from '../../../platform/pub/package-name.ts'
import { hostedHere } from '../hosting.ts'
import { isVersionPublic } from '../conditions.ts'
import { isReferenced, diagnoseReadFailure, clearRecordedFault } from './faults.ts'

/** Returns the hash, size and checksum of a version's archive, or null if the version does not exist for this audience. */
export async function findArchive(
  { database: { reads }, config }: Pick<Services, 'database' | 'config'>,
  name: string,
  version: string,
  audience: Audience,
): Promise<StoredBytes | null> {
  const found = await (audience === 'members'
    ? reads.recall(archiveFacts, name, version)
    : reads.recall(publicArchiveFacts, name, version, hostedHere(config)))
  return found ?? null
}

const factsOf = (name: string, version: string) =>
  db
    .selectFrom('package_versions as v')
    .innerJoin('packages as p', 'p.id', 'v.package_id')
    .select(['v.archive_sha256 as sha256', 'v.archive_bytes as bytes', 'v.archive_crc32c as crc32c'])
    .where('p.name', '=', name)
    .where('v.version', '=', version)

const archiveFacts = prepared(factsOf)
const publicArchiveFacts = prepared((name: string, version: string, hosted: string) =>
  factsOf(name, version).where((eb) => isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), hosted)),
)

/**
 * Opens an archive or a byte range of it: small archives from the cache, large ones as a stream from the store (`isTaken`: see BlobStore). Verifies
 * the content before the first byte is sent. Restores an archive that was removed by mistake.
 * @throws ApiError NotFound if the version has just been deleted; ServiceUnavailable if the archive is missing, damaged or cannot be reached.
 */
export function openArchive(
  services: Reader,
  archive: Archive,
  range: Range | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  return withArchive(services, archive, () => openBytes(services, archive, range, isTaken))
}

/**
 * Returns a URL that allows anyone to download the archive for one minute; null if the store or the settings do not allow it.
 * @throws ApiError NotFound; ServiceUnavailable (see `openArchive`).
 */
export async function linkToArchive(
  context: Reader & Pick<Services, 'config'>,
  archive: Archive,
  audience: Audience,
): Promise<string | null> {
  const { blobs, config } = context
  const { BLOB_BACKEND, S3_PUBLIC_REDIRECTS, S3_SIGNED_DOWNLOADS } = config
  if (BLOB_BACKEND !== 's3' || !(S3_PUBLIC_REDIRECTS || S3_SIGNED_DOWNLOADS)) return null
  const isPublic = audience === 'public' || (await isReadablePublicly(context, archive))
  if (!(isPublic ? S3_PUBLIC_REDIRECTS : S3_SIGNED_DOWNLOADS)) return null
  const file = { name: archiveFile(archive.name, archive.version), type: 'application/gzip' }
  return withArchive(context, archive, () => blobs.link(archive.sha256, { ...file, seconds: linkSeconds }))
}

/**
 * Returns the internal path of a large archive for the reverse proxy (X-Accel-Redirect); null without ACCEL_REDIRECT_PREFIX.
 * @throws ApiError NotFound; ServiceUnavailable (see `openArchive`).
 */
export async function proxyPathFor(context: Reader & Pick<Services, 'config'>, archive: Archive): Promise<string | null> {
  const prefix = context.config.ACCEL_REDIRECT_PREFIX
  if (prefix === undefined || archive.bytes <= maxCachedBytes) return null
  const place = await withArchive(context, archive, () => context.blobs.place(archive.sha256))
  return place === null ? null : `${prefix}${place}`
}

declare module '../../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Contents of small archives by hash. */
    archives: Buffer
  }
}

type Reader = Pick<Services, 'blobs' | 'caches' | 'database' | 'log' | 'now' | 'state'>
type Archive = StoredBytes & { name: string; version: string }
type Range = { start: number; end: number }

const linkSeconds = 60

async function isReadablePublicly(context: Pick<Services, 'config' | 'database'>, { name, version }: Archive): Promise<boolean> {
  return (await isBrowsingOn(context)) && (await findArchive(context, name, version, 'public')) !== null
}

/** Runs `work` on an archive, again if a missing archive could be restored, and records or clears faults. Throws as `openArchive`. */
async function withArchive<Result>(services: Reader, archive: Archive, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await work().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && (await isReferenced(services, archive)) && (await services.blobs.restore(archive.sha256)))
        return work()
      throw error
    })
    await clearRecordedFault(services, archive.sha256)
    return result
  } catch (error) {
    throw await diagnoseReadFailure(services, archive, error)
  }
}

async function openBytes(
  { blobs, caches: { archives } }: Reader,
  { sha256, bytes }: StoredBytes,
  range: Range | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  if (bytes > maxCachedBytes) return blobs.open(sha256, range, isTaken)
  let content = archives.get(sha256)
  if (!content) archives.set(sha256, (content = inOwnMemory(await blobs.read(sha256))))
  return range ? content.subarray(range.start, range.end + 1) : content
}

/** Largest archive in bytes that is cached in memory. Most packages are smaller; larger ones are streamed from the store. */
const maxCachedBytes = 256 * 1024
