import { closeSync, existsSync, fsync, openSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { makeFolders, setMode } from '../config/make-folders.ts'

/** Makes directories with those above them. A new name lasts once the directory that holds it is synced. */
export async function makeDirectories(paths: string[], mode: number): Promise<void> {
  for (const path of paths)
    for (const made of makeFolders(path, mode)) {
      setMode(made, mode)
      await syncDirectory(dirname(made))
    }
}

/**
 * Makes a directory with those between it and `base`, which has to be there: a volume that is not mounted must not be written to beside it.
 * The new names do not last yet (see syncNames).
 * @throws Error ENOENT without `base`.
 */
export async function makeDirectoryBelow(base: string, path: string, lasting: Set<string>, mode: number): Promise<void> {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== base) await makeDirectoryBelow(base, parent, lasting, mode)
  await mkdir(path, { mode }).catch(unlessThere)
  setMode(path, mode)
  lasting.delete(path)
}

/**
 * Makes what is named in a directory below `base` survive a power cut, and the names of the directories that lead to it, whoever made them: at
 * once, since each sync waits for the disk. `lasting` are those whose names are known to last, and gets these.
 */
export async function syncNames(base: string, path: string, lasting: Set<string>): Promise<void> {
  const unsure: string[] = []
  for (let above = path; above !== base && !lasting.has(above); above = dirname(above)) unsure.push(above)
  await Promise.all([path, ...unsure.map((above) => dirname(above))].map(syncDirectory))
  for (const above of unsure) lasting.add(above)
}

/** Throws an error unless it says that what was to be made is there already. */
export function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** Makes the names in a directory survive a power cut. Only that waits for the disk: another thread opening it costs more than opening it. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = openSync(path, 'r')
  try {
    await syncDescriptor(directory)
  } finally {
    closeSync(directory)
  }
}

const syncDescriptor = promisify(fsync)
