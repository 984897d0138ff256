import type { Readable } from 'node:stream'
import type { StoredBytes } from '../../blobs/store.ts'
import { inOwnMemory } from '../../caches/retained-bytes.ts'
import type { Services } from '../../services.ts'
import type { Audience } from '../../access/audience.ts'
import { isBrowsingOn } from '../../access/browsing.ts'
import { archiveFile } from '../../pub/archive-name.ts'
import { hostedHere } from '../hosting/hosted-here.ts'
import { isPublicVersion } from '../policy.ts'
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
    : reads.recall<FactsRow>(`${factsSql} and ${isPublicVersion}`, name, version, hostedHere(config)))
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
export function openArchive(
  services: Reader,
  archive: Archive,
  range: Range | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  return reach(services, archive, () => openBytes(services, archive, range, isTaken))
}

/**
 * An address where anybody reads the archive of a version for a minute; null where the store has none, or the settings say that the server sends it.
 * @throws as openArchive does.
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
  return reach(context, archive, () => blobs.link(archive.sha256, { ...file, seconds: linkSeconds }))
}

/**
 * Where the proxy in front finds a large archive, to send it instead of the server: a path that only it reaches. Null without that setting, and
 * for small archives, which are in memory. The bytes are those that were published, as with `openArchive`.
 * @throws as openArchive does.
 */
export async function placeForProxy(context: Reader & Pick<Services, 'config'>, archive: Archive): Promise<string | null> {
  const prefix = context.config.ACCEL_REDIRECT_PREFIX
  if (prefix === undefined || archive.bytes <= largestKept) return null
  const place = await reach(context, archive, () => context.blobs.place(archive.sha256))
  return place === null ? null : `${prefix}${place}`
}

declare module '../../caches/caches.ts' {
  interface CachedValues {
    /** Small archives, by their hash. */
    archives: Buffer
  }
}

type Reader = Pick<Services, 'blobs' | 'caches' | 'database' | 'log' | 'now'>
type Archive = StoredBytes & { name: string; version: string }
type Range = { start: number; end: number }

const linkSeconds = 60

/** Whether somebody who did not sign in may read it now. */
async function isReadablePublicly(context: Pick<Services, 'config' | 'database'>, { name, version }: Archive): Promise<boolean> {
  return (await isBrowsingOn(context)) && (await findArchive(context, name, version, 'public')) !== null
}

/** Reaches the bytes of an archive, if need be by bringing them back. @throws see openArchive. */
async function reach<Reached>(services: Reader, archive: Archive, how: () => Promise<Reached>): Promise<Reached> {
  try {
    const reached = await how().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && (await isNamed(services, archive)) && (await services.blobs.restore(archive.sha256))) return how()
      throw error
    })
    await noteWhole(services, archive.sha256)
    return reached
  } catch (error) {
    throw await judgeUnreadable(services, archive, error)
  }
}

async function openBytes(
  { blobs, caches: { archives } }: Reader,
  { sha256, bytes }: StoredBytes,
  range: Range | undefined,
  isTaken: () => boolean,
): Promise<Buffer | Readable> {
  if (bytes > largestKept) return blobs.open(sha256, range, isTaken)
  let content = archives.get(sha256)
  if (!content) archives.set(sha256, (content = inOwnMemory(await blobs.read(sha256))))
  return range ? content.subarray(range.start, range.end + 1) : content
}

/** Most packages are smaller than this; what is larger is worth a file handle. */
const largestKept = 256 * 1024
