import { readdir } from 'node:fs/promises'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setMode } from '../config/make-folders.ts'

/** The permissions of stored files and of the folders that they are in. */
export type Modes = { file: number; folder: number }

/** Only the account of the server may read. */
export const privateModes: Modes = { file: 0o600, folder: 0o700 }
/** The group may read, too. */
export const groupModes: Modes = { file: 0o640, folder: 0o750 }

/**
 * Sets the permissions of a folder and of everything in it, unless the folder has them already. Its own come last, so that an interrupted run
 * is done again. Links are left alone.
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
