import type { Readable } from 'node:stream'
import { notFound } from '../errors.ts'
import { byteCache, type ByteCache } from '../http/byte-cache.ts'
import type { Services } from '../services.ts'
import type { Audience } from '../visibility/audience.ts'
import { hostedHere, readableByAnybody } from '../visibility/readable.ts'
import { parseVersion } from './version.ts'

/** What is known of an archive without touching its bytes. */
export type ArchiveFacts = { sha256: string; bytes: number; crc32c: string }

/** The archive of a version, or null when it is not there for this audience. */
export async function findArchive(
  { database: { reads }, config }: Pick<Services, 'database' | 'config'>,
  name: string,
  version: string,
  audience: Audience,
): Promise<ArchiveFacts | null> {
  const row = await (audience === 'members'
    ? reads.recall<FactsRow>(factsSql, name, version)
    : reads.recall<FactsRow>(`${factsSql} and ${readableByAnybody}`, name, version, hostedHere(config)))
  // PostgreSQL hands out 64-bit integers as text.
  return row ? { ...row, bytes: Number(row.bytes) } : null
}

type FactsRow = { sha256: string; bytes: number | string; crc32c: string }

const factsSql = `select v.archive_sha256 as sha256, v.archive_bytes as bytes, v.archive_crc32c as crc32c
  from package_versions v join packages p on p.id = v.package_id where p.name = ? and v.version = ?`

/** Name and version in `<name>-<version>.tar.gz`: names have no hyphen, versions may. Null when it is no such file name. */
export function splitArchiveName(file: string): { name: string; version: string } | null {
  const [, name = '', version = ''] = /^([a-z][a-z0-9_]{0,63})-(.+)\.tar\.gz$/.exec(file) ?? []
  return name && parseVersion(version) ? { name, version } : null
}

/**
 * The bytes of an archive, or of a part of it: small ones from memory, large ones from the store as a stream (`isTaken`: see BlobStore).
 * @throws ApiError NotFound when its version has just been deleted.
 */
export async function openArchive(
  { blobs, database }: Pick<Services, 'blobs' | 'database'>,
  archive: ArchiveFacts,
  range: Range | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  try {
    return await openBytes(blobs, archive, range, isTaken)
  } catch (error) {
    // A version may be deleted between the look at its row and the look at its bytes.
    const named = await database.reads.get('select 1 from package_versions where archive_sha256 = ?', archive.sha256)
    throw named ? error : notFound('There is no such archive on this server any more.')
  }
}

type Range = { start: number; end: number }

async function openBytes(
  blobs: Services['blobs'],
  { sha256, bytes }: ArchiveFacts,
  range: Range | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  if (bytes > largestKept) return blobs.open(sha256, range, isTaken)
  const cache = cacheOf(blobs)
  let content = cache.get(sha256)
  if (!content) cache.set(sha256, (content = await blobs.read(sha256)))
  return range ? content.subarray(range.start, range.end + 1) : content
}

/** Most packages are smaller than this; what is larger is worth a file handle. */
const largestKept = 256 * 1024
const cacheBytes = 64 * 1024 ** 2

const caches = new WeakMap<Services['blobs'], ByteCache<Buffer>>()

function cacheOf(blobs: Services['blobs']): ByteCache<Buffer> {
  let cache = caches.get(blobs)
  if (!cache) caches.set(blobs, (cache = byteCache(cacheBytes, (content) => content.length)))
  return cache
}
