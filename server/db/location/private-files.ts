import { closeSync, existsSync, openSync } from 'node:fs'
import { makeFolders, setMode } from '../../config/make-folders.ts'

/** Makes a folder, and those above it, for this account only, unless they are there. */
export const makeFolder = (path: string): void => void makeFolders(path, 0o700)

/**
 * Makes an SQLite file for this account only, or takes the others' rights to it away. What SQLite puts beside it gets the rights of the file.
 */
export function keepPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) if (existsSync(file)) setMode(file, 0o600)
}
