import type { Readable } from 'node:stream'
import type { StoredBytes } from '../../blobs/store.ts'
import { byteCache, type ByteCache } from '../../http/byte-cache.ts'
import type { Services } from '../../services.ts'
import type { Audience } from '../../access/audience.ts'
import { hostedHere } from '../hosted-here.ts'
import { isVersionSeenByAnybody } from '../policy.ts'
import { isNamed, judgeUnreadable, noteWhole } from './unreadable.ts'

/** What is known of the archive of a version, or null when it is not there for this audience. */
export async function findArchive(
  { database: { reads }, config }: Pick<Services, 'database' | 'config'>,
  name: string,
  version: string,
  audience: Audience,
): Promise<StoredBytes | null> {
  const row = await (audience === 'members'
    ? reads.recall<FactsRow>(factsSql, name, version)
    : reads.recall<FactsRow>(`${factsSql} and ${isVersionSeenByAnybody}`, name, version, hostedHere(config)))
  // PostgreSQL hands out 64-bit integers as text.
  return row ? { ...row, bytes: Number(row.bytes) } : null
}

type FactsRow = Omit<StoredBytes, 'bytes'> & { bytes: number | string }

const factsSql = `select v.archive_sha256 as sha256, v.archive_bytes as bytes, v.archive_crc32c as crc32c
  from package_versions v join packages p on p.id = v.package_id where p.name = ? and v.version = ?`

/**
 * The bytes of an archive, or of a part of it: small ones from memory, large ones from the store as a stream (`isTaken`: see BlobStore). They are
 * those that were published: what is damaged or missing is refused before the first byte. An archive that was removed by mistake comes back.
 * @throws ApiError NotFound when its version has just been deleted; ServiceUnavailable when the archive cannot be read as it was.
 */
export async function openArchive(
  services: Pick<Services, 'blobs' | 'database' | 'log' | 'now'>,
  archive: StoredBytes & { name: string; version: string },
  range: Range | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  const { blobs } = services
  try {
    const bytes = await openBytes(blobs, archive, range, isTaken).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && (await isNamed(services, archive)) && (await blobs.restore(archive.sha256)))
        return openBytes(blobs, archive, range, isTaken)
      throw error
    })
    await noteWhole(services, archive.sha256)
    return bytes
  } catch (error) {
    throw await judgeUnreadable(services, archive, error)
  }
}

type Range = { start: number; end: number }

async function openBytes(
  blobs: Services['blobs'],
  { sha256, bytes }: StoredBytes,
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
  if (!cache) caches.set(blobs, (cache = byteCache('archives', cacheBytes, (content) => content.length)))
  return cache
}
