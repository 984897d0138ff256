import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { eachFile } from './read.ts'
import type { ArchiveFile } from './tree.ts'

/**
 * Extracts a package into a folder that no other process writes to. The same rules apply as when publishing: valid paths, no links, no duplicates,
 * and the size limits. Always destroys the stream.
 * @returns the files that were written.
 * @throws ApiError PackageRejected for an invalid archive. Files already written remain.
 */
export async function unpackInto(source: Readable, folder: string): Promise<ArchiveFile[]> {
  const files: ArchiveFile[] = []
  const made = new Set<string>()
  await eachFile(source, {}, (file) => {
    const path = join(folder, file.path)
    if (!made.has(dirname(path))) mkdirSync(dirname(path), { recursive: true })
    made.add(dirname(path))
    files.push(file)
    return writer(path, file.size)
  })
  return files
}

/** Writes a file's content in chunks and closes the file after the last byte. */
function writer(path: string, size: number): (chunk: Uint8Array) => void {
  // The `wx` flag never follows or replaces an existing file.
  const file = openSync(path, 'wx', 0o644)
  let left = size
  const close = () => left <= 0 && closeSync(file)
  close()
  return (chunk) => {
    if (left <= 0) return
    writeSync(file, chunk)
    left -= chunk.length
    close()
  }
}
