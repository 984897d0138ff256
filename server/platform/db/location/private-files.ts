import { closeSync, existsSync, openSync } from 'node:fs'
import { makeFolders, setMode } from '../../config/make-folders.ts'

/** Creates a folder and its missing parents with mode 0700, readable by this account only. Existing folders are left unchanged. */
export const makeFolder = (path: string): void => void makeFolders(path, 0o700)

/**
 * Creates an SQLite file with mode 0600, or restricts an existing one to this mode. SQLite creates its auxiliary files with the mode of the main
 * file.
 */
export function restrictToOwner(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) if (existsSync(file)) setMode(file, 0o600)
}
