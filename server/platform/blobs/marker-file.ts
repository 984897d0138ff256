import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory, ignoreExisting } from './directories.ts'

/**
 * Returns the id in the marker file that identifies the owner of a folder, or null if there is no such file. An invalid id is returned unchanged; it
 * matches no owner.
 */
export async function readMarker(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Writes a marker file atomically and durably. Keeps an existing file unless `replace` is set.
 * @returns the id in the file, which another instance may have written first.
 */
export async function writeMarker(path: string, id: string, { replace = false, mode = 0o666 }): Promise<string> {
  const partial = `${path}.${randomUUID()}`
  try {
    await writeDurably(partial, `${id}\n`, mode)
    // A link fails if the target exists, while a rename would replace it.
    if (replace) await rename(partial, path)
    else
      await link(partial, path).catch((error: NodeJS.ErrnoException) => (hasNoLinks(error) ? rename(partial, path) : ignoreExisting(error)))
  } finally {
    await rm(partial, { force: true })
  }
  await syncDirectory(dirname(path))
  return (await readMarker(path)) ?? id
}

/**
 * Returns whether the file system does not support hard links, like those of USB drives and some network shares. An existing target is reported with
 * a different code.
 */
const hasNoLinks = ({ code }: NodeJS.ErrnoException) => ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code ?? '')

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  await using file = await open(path, 'wx', mode)
  await file.writeFile(text)
  await file.sync()
}
