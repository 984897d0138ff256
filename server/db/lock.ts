import SqliteDatabase from 'better-sqlite3'
import { keepPrivate } from './private-files.ts'

/**
 * Holds `path` for this process until the returned function is called. The operating system lets go when the process dies,
 * so a crash leaves nothing to clean up: the lock is an SQLite file with an open exclusive transaction.
 * @throws Error when another process holds it.
 */
export function lockSqlite(path: string): () => void {
  keepPrivate(path)
  const holder = new SqliteDatabase(path, { timeout: 0 })
  try {
    holder.pragma('journal_mode = DELETE')
    holder.exec('begin exclusive')
  } catch {
    holder.close()
    throw new Error(`${path} is held by another process. Stop the other server first, or use PostgreSQL to run several.`)
  }
  return () => holder.close()
}
