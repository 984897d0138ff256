import { fsync, statSync } from 'node:fs'
import { access, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeFolders, setMode, setModeLater } from '../config/paths.ts'
import { randomUUID } from 'node:crypto'
import { closeFile, directly, type DiskCalls, openFile, syncSteps, writes } from './disk-calls.ts'

/** Creates directories with their missing parents and syncs the parent of each new directory, so that the new names survive a power failure. */
export async function makeDirectories(paths: string[], mode: number): Promise<void> {
  for (const path of paths)
    for (const made of makeFolders(path, mode)) {
      setMode(made, mode)
      await syncDirectory(dirname(made))
    }
}

/**
 * Creates a directory and its missing parents below `base`, which must exist so that nothing is written to the mount point of an unmounted volume.
 * The new names are not durable until `syncNames` is called.
 * @throws Error ENOENT if `base` does not exist.
 */
export async function makeDirectoryBelow(base: string, path: string, lasting: Set<string>, mode: number): Promise<void> {
  if (await exists(path)) return
  const parent = dirname(path)
  if (parent !== base) await makeDirectoryBelow(base, parent, lasting, mode)
  await writes(() => mkdir(path, { mode })).catch(ignoreExisting)
  await writes(() => setModeLater(path, mode))
  lasting.delete(path)
}

const exists = (path: string): Promise<boolean> =>
  writes(() => access(path)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )

/**
 * Makes the entries of a directory, and the names of its parents up to `base`, survive a power failure. `lasting` contains the directories whose
 * names are already durable and is updated.
 */
export async function syncNames(base: string, path: string, lasting: Set<string>): Promise<void> {
  const unsure: string[] = []
  for (let above = path; above !== base && !lasting.has(above); above = dirname(above)) unsure.push(above)
  await Promise.all([path, ...unsure.map((above) => dirname(above))].map((one) => syncDirectory(one, writes)))
  for (const above of unsure) lasting.add(above)
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** Syncs a directory, so that its entries survive a power failure. */
export async function syncDirectory(path: string, calls: DiskCalls = directly): Promise<void> {
  const directory = await openFile(calls, path, 'r')
  try {
    await calls(() => syncDescriptor(directory), { steps: syncSteps })
  } finally {
    await closeFile(calls, directory)
  }
}

const syncDescriptor = promisify(fsync)

/** Permission bits of stored files and of their folders. */
export type Modes = { file: number; folder: number }
export const privateModes: Modes = { file: 0o600, folder: 0o700 }
export const groupModes: Modes = { file: 0o640, folder: 0o750 }

/**
 * Sets the permissions of a folder and everything in it, unless the folder already has them. The folder itself is changed last, so that an
 * interrupted run is repeated. Symbolic links are skipped.
 */
export async function setModesBelow(folder: string, modes: Modes): Promise<void> {
  if ((statSync(folder).mode & 0o777) === modes.folder) return
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await setModesBelow(path, modes)
    else if (entry.isFile()) setMode(path, modes.file)
  }
  setMode(folder, modes.folder)
}

/** Returns the id in the marker file that identifies the owner of a folder, or null if there is no such file. */
export async function readMarker(path: string, calls: DiskCalls = directly): Promise<string | null> {
  try {
    return (await calls(() => readFile(path, 'utf8'))).trim()
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
    {
      await using file = await open(partial, 'wx', mode)
      await file.writeFile(`${id}\n`)
      await file.sync()
    }
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

/** Returns whether the file system does not support hard links, like those of USB drives and some network shares. */
const hasNoLinks = ({ code }: NodeJS.ErrnoException) => ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code ?? '')
