import { read } from 'node:fs'
import { promisify } from 'node:util'
import type { Context } from '../../platform/access/context.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { loadPackage } from '../packages/service.ts'
import { type VersionArchive, withCopy } from './reading/copies.ts'
import type { Place } from './reading/unpack.ts'

/**
 * A file of a version's archive. `kind` and `mediaType` are determined by the content: `image` is a PNG, JPEG, GIF, WebP, AVIF or SVG; `text` is
 * UTF-8. `sha256` is in hex.
 */
export type PackageFile = Pick<Place, 'path' | 'bytes' | 'kind' | 'mediaType' | 'sha256'>

/** Largest part of a file in bytes that `readPackageFile` returns by default. */
export const maxReadBytes = 1024 ** 2

/**
 * Returns the files of a version, ordered by path. The caller must have checked that the version is visible.
 * @throws ApiError NotFound if the version has just been deleted; ServiceUnavailable if the archive cannot be read.
 */
export async function listFiles(context: Context, version: PackageVersion): Promise<PackageFile[]> {
  return withCopy(context, await archiveOf(context, version), ({ places }) => [...places.values()].map(describe))
}

/**
 * Reads a file of a version, or null if it does not exist. `content` is truncated to `maxBytes`; `file.bytes` is the size of the whole file.
 * @throws ApiError as `listFiles`.
 */
export async function readPackageFile(
  context: Context,
  version: PackageVersion,
  path: string,
  maxBytes: number = maxReadBytes,
): Promise<{ file: PackageFile; content: Buffer } | null> {
  return readArchiveFile(context, await archiveOf(context, version), path, maxBytes)
}

/** `readPackageFile` for an archive. */
export function readArchiveFile(
  context: Context,
  archive: VersionArchive,
  path: string,
  maxBytes: number = maxReadBytes,
): Promise<{ file: PackageFile; content: Buffer } | null> {
  return withCopy(context, archive, async ({ descriptor, places }) => {
    const place = places.get(path)
    if (!place) return null
    const content = Buffer.allocUnsafeSlow(Math.min(place.bytes, maxBytes))
    await readFully(descriptor, content, place.offset)
    return { file: describe(place), content }
  })
}

/** Reads a part of a file, from `start`. @throws ApiError as `listFiles`; RangeError if the file is shorter. */
export async function readPart(context: Context, archive: VersionArchive, path: string, start: number, length: number): Promise<Buffer> {
  return withCopy(context, archive, async ({ descriptor, places }) => {
    const place = places.get(path)
    if (!place || start + length > place.bytes) throw new RangeError(`${path} is shorter than ${start + length} bytes.`)
    const content = Buffer.allocUnsafeSlow(length)
    await readFully(descriptor, content, place.offset + start)
    return content
  })
}

/** Returns the archive of a version. */
export async function archiveOf(context: Pick<Context, 'em'>, version: PackageVersion): Promise<VersionArchive> {
  const pkg = await loadPackage(context, version.package.id)
  if (!pkg) throw new Error(`Version ${version.id} has no package`)
  const { archiveSha256: sha256, archiveBytes: bytes, archiveCrc32c: crc32c } = version
  return { name: pkg.name, version: version.version, sha256, bytes, crc32c }
}

const describe = ({ path, bytes, kind, mediaType, sha256 }: Place): PackageFile => ({ path, bytes, kind, mediaType, sha256 })

const readDescriptor = promisify(read)

async function readFully(descriptor: number, into: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < into.length;) {
    const { bytesRead } = await readDescriptor(descriptor, into, filled, into.length - filled, position + filled)
    if (bytesRead === 0) throw new Error('The unpacked archive ended early.')
    filled += bytesRead
  }
}
