import { closeSync, existsSync, fsync, openSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { makeFolders, setMode } from '../config/make-folders.ts'

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
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== base) await makeDirectoryBelow(base, parent, lasting, mode)
  await mkdir(path, { mode }).catch(ignoreExisting)
  setMode(path, mode)
  lasting.delete(path)
}

/**
 * Makes the entries of a directory, and the names of its parents up to `base`, survive a power failure. The syncs run concurrently, since each one
 * waits for the disk. `lasting` contains the directories whose names are already durable and is updated.
 */
export async function syncNames(base: string, path: string, lasting: Set<string>): Promise<void> {
  const unsure: string[] = []
  for (let above = path; above !== base && !lasting.has(above); above = dirname(above)) unsure.push(above)
  await Promise.all([path, ...unsure.map((above) => dirname(above))].map(syncDirectory))
  for (const above of unsure) lasting.add(above)
}

/** Ignores EEXIST and throws every other error. */
export function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/**
 * Syncs a directory, so that its entries survive a power failure. Only the sync runs asynchronously: opening a directory is cheaper than moving that
 * call to another thread.
 */
export async function syncDirectory(path: string): Promise<void> {
  const directory = openSync(path, 'r')
  try {
    await syncDescriptor(directory)
  } finally {
    closeSync(directory)
  }
}

const syncDescriptor = promisify(fsync)
