import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'
import { makeFolders } from '../../config/make-folders.ts'

/** Makes a folder, and those above it, for this account only, unless they are there. */
export const makeFolder = (path: string): void => void makeFolders(path, 0o700)

/**
 * Makes an SQLite file for this account only, or takes the others' rights to it away. What SQLite puts beside it gets the rights of the file.
 */
export function keepPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) if (existsSync(file)) tighten(file)
}

/** Some file systems know no rights, and only a file's owner may change them: neither keeps the server from running. */
function tighten(file: string): void {
  try {
    chmodSync(file, 0o600)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code))) throw error
  }
}
