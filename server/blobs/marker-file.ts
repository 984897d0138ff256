import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory, unlessThere } from './directories.ts'

/** The id in a marker file, which says whose a folder is; null without one. What is no id any more is given as it is: it fits nobody. */
export async function readMarker(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Writes a marker file, whole and durably or not at all. One that is there stays, unless `replace` says otherwise.
 * @returns the id that is in it then: another instance may have been faster.
 */
export async function writeMarker(path: string, id: string, { replace = false, mode = 0o666 }): Promise<string> {
  const partial = `${path}.${randomUUID()}`
  try {
    await writeDurably(partial, `${id}\n`, mode)
    // A link fails where a file is; renaming would replace it.
    if (replace) await rename(partial, path)
    else await link(partial, path).catch((error: NodeJS.ErrnoException) => (hasNoLinks(error) ? rename(partial, path) : unlessThere(error)))
  } finally {
    await rm(partial, { force: true })
  }
  await syncDirectory(dirname(path))
  return (await readMarker(path)) ?? id
}

/** Whether a file system has no links, such as those of USB sticks and of some network shares. That a file is there is said first. */
const hasNoLinks = ({ code }: NodeJS.ErrnoException) => ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code ?? '')

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  await using file = await open(path, 'wx', mode)
  await file.writeFile(text)
  await file.sync()
}
