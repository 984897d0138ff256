import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { eachFile } from './read.ts'
import type { ArchiveFile } from './tree.ts'

/**
 * Writes the files of a package below a folder that nobody else writes to, by the rules of publishing: plain paths only, no links, none twice,
 * and no more than an archive may hold. Destroys the stream in every case.
 * @returns the files that were written.
 * @throws ApiError PackageRejected for an archive that breaks a rule; what was written before stays.
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

/** Writes the bytes of one file as they come, and closes it after the last. */
function writer(path: string, size: number): (chunk: Uint8Array) => void {
  // What is there already would be a file of the same name: never follow or replace it.
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
