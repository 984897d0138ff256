import { readdir } from 'node:fs/promises'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setMode } from '../config/make-folders.ts'

/** Permission bits of stored files and of their folders. */
export type Modes = { file: number; folder: number }

/** Readable by the account of the server only. */
export const privateModes: Modes = { file: 0o600, folder: 0o700 }
/** Readable by the group as well. */
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
