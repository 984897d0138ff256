import SqliteDatabase from 'better-sqlite3'
import { existsSync, accessSync, constants, closeSync, openSync } from 'node:fs'
import { readOnly, makeFolders, setMode } from '../../config/paths.ts'

/**
 * Locks `path` for this process until the returned function is called. The operating system releases the lock, an exclusive transaction in an SQLite
 * file, when the process dies. `waitMs` is the time to wait for another process, during which this one does nothing else.
 * @throws Error if another process holds the lock.
 */
export function lockSqlite(path: string, waitMs = 0): () => void {
  restrictToOwner(path)
  const holder = new SqliteDatabase(path, { timeout: waitMs })
  try {
    holder.pragma('journal_mode = DELETE')
    holder.exec('begin exclusive')
  } catch (error) {
    holder.close()
    // Other errors, such as a full disk, do not mean that another process holds the lock.
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))) throw error
    throw new Error(`${path} is held by another process. Stop the other server first, or use PostgreSQL to run several.`, { cause: error })
  }
  return () => holder.close()
}

/** Returns whether a process holds the lock at `path`. Returns true if the file cannot be read. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    const reader = new SqliteDatabase(path, { readonly: true, timeout: 0 })
    try {
      reader.prepare('select 1 from sqlite_schema').get()
    } finally {
      reader.close()
    }
    return false
  } catch {
    // The file may have been removed in the meantime.
    return existsSync(path)
  }
}

/**
 * Returns whether a path exists. Unlike `existsSync`, does not return false for a path that this account may not see.
 * @throws Error if the account may not read the path, or not write to it although `writable` is set.
 */
export function isThere(path: string, { writable = false } = {}): boolean {
  try {
    accessSync(path, constants.R_OK)
    if (writable) accessSync(path, constants.W_OK)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    if (code === 'EROFS') throw new Error(`${path} ${readOnly}`, { cause: error })
    if (code !== 'EACCES') throw error
    throw new Error(`${path} cannot be ${writable ? 'opened' : 'read'}: permission denied. Run the command as the account of the server.`, {
      cause: error,
    })
  }
}

/** Creates a folder and its missing parents with mode 0700, readable by this account only. Existing folders are left unchanged. */
export const makeFolder = (path: string): void => void makeFolders(path, 0o700)

/** Creates an SQLite file with mode 0600, or restricts an existing one. SQLite creates its auxiliary files with the mode of the main file. */
export function restrictToOwner(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) if (existsSync(file)) setMode(file, 0o600)
}
