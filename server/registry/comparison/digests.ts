import { createHash } from 'node:crypto'
import type { Context } from '../../platform/access/context.ts'
import { type ArchiveFile } from '../archive/path.ts'
import { eachFile } from '../archive/read.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { openArchive } from '../packages/listing/archive.ts'
import { loadPackage } from '../packages/service.ts'

/** A file of an archive with a hash of its content. `size` is in bytes. */
export type FileDigest = ArchiveFile & { digest: string }

/**
 * Reads the archive of a version in a single pass with bounded memory, and hashes each file. Returns the files
 * ordered by path.
 * @throws ApiError NotFound; ServiceUnavailable (see `openArchive`).
 */
export async function digestFiles(context: Context, version: PackageVersion): Promise<FileDigest[]> {
  const files: (ArchiveFile & { hash: ReturnType<typeof createHash> })[] = []
  await eachFile(await open(context, version), {}, (file) => {
    const hash = createHash('sha256')
    files.push({ ...file, hash })
    return (chunk) => void hash.update(chunk)
  })
  return files.map(({ path, size, hash }) => ({ path, size, digest: hash.digest('base64') })).sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Returns the content of a file, or null if the archive does not contain it. @throws ApiError as `digestFiles`. */
export async function readEntry(context: Context, version: PackageVersion, path: string): Promise<Buffer | null> {
  let found: Buffer[] | null = null
  await eachFile(await open(context, version), {}, (file) => {
    if (file.path !== path) return undefined
    const chunks: Buffer[] = (found = [])
    return (chunk) => void chunks.push(Buffer.from(chunk))
  })
  return found && Buffer.concat(found)
}

async function open(context: Context, version: PackageVersion) {
  const pkg = await loadPackage(context, version.package.id)
  const { archiveSha256: sha256, archiveBytes: bytes, archiveCrc32c: crc32c } = version
  return openArchive(context, { name: pkg?.name ?? '', version: version.version, sha256, bytes, crc32c }, undefined, () => false)
}
