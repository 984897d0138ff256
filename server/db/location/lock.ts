import SqliteDatabase from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { keepPrivate } from './private-files.ts'

/**
 * Holds `path` for this process until the returned function is called. The operating system lets go when the process dies,
 * so a crash leaves nothing to clean up: the lock is an SQLite file with an open exclusive transaction.
 * @param waitMs for how long it waits for whoever only looks.
 * @throws Error when another process holds it.
 */
export function lockSqlite(path: string, waitMs = 0): () => void {
  keepPrivate(path)
  const holder = new SqliteDatabase(path, { timeout: waitMs })
  try {
    holder.pragma('journal_mode = DELETE')
    holder.exec('begin exclusive')
  } catch (error) {
    holder.close()
    // A full disk, say, is nobody's.
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))) throw error
    throw new Error(`${path} is held by another process. Stop the other server first, or use PostgreSQL to run several.`, { cause: error })
  }
  return () => holder.close()
}

/** Whether a process holds `path`. What cannot be looked at is held. */
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
    // It may have been removed since.
    return existsSync(path)
  }
}
