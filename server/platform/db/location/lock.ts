import SqliteDatabase from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { restrictToOwner } from './private-files.ts'

/**
 * Locks `path` for this process until the returned function is called. The lock is an SQLite file with an open exclusive transaction, so the
 * operating system releases it when the process dies. `waitMs` is the time to wait for a process that only checks the lock.
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
