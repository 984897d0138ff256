import SqliteDatabase from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { setTimeout as sleep } from 'node:timers/promises'
import { entryBytes } from '../../caches/caches.ts'
import { unmetered } from '../meter.ts'
import { MetadataStorage } from '@mikro-orm/core'
import type { Statement } from '../query.ts'
import type { Source } from '../reads.ts'
import { forSqlite } from '../statements.ts'
import { convertRows } from './sqlite-rows.ts'
import { avoidReplanning, isLockedError } from './sqlite-lease.ts'

/** Maximum number of prepared statements. Each combination of search filters is its own statement. */
const maxPrepared = 200

/** Milliseconds for which a read is retried while the file is locked. In WAL mode, other processes block readers only for moments. */
const busyMs = 1500
const retryMs = 20

/** Page cache of each connection: 6000 KB. The operating system caches the rest of the file, and reading from there is cheap. */
export const cacheSize = 'cache_size = -6000'

/** The write connection of this process: whether a transaction is open, and the number of statements that may have written. */
type Writer = { readonly inTransaction: boolean; readonly written: number }

/** Opens a separate connection for reads. Caches up to `maxRowBytes` bytes of rows in total; writes of `writer` clear the cache. */
export function sqliteReads(path: string, writer: Writer, maxRowBytes: number, metadata = new MetadataStorage()): Source {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: retryMs })
  db.pragma(cacheSize)
  const { first, all } = reader(db, metadata)
  const rows = rowCache(maxRowBytes)
  const notice = watch(db, writer)
  const counts = { hits: 0, misses: 0 }
  function recall(statement: Statement): unknown {
    const change = notice()
    if (change === 'under way') return first(statement)
    if (change === 'written') rows.clear()
    const key = statement.values.join('\0')
    const known = rows.get(statement.sql, key)
    if (known !== undefined) {
      counts.hits++
      return known
    }
    counts.misses++
    const row = first(statement)
    if (row !== undefined) rows.set(statement.sql, key, row)
    return row
  }
  return {
    row: (statement) => retryWhileLocked(() => first(statement)),
    rows: (statement) => retryWhileLocked(() => all(statement)),
    recalled: (statement) => retryWhileLocked(() => recall(statement)),
    counts,
    async close() {
      db.close()
    },
  }
}

/** Returns functions that return the first row or all rows of a statement, converted to the types of their columns. Statements stay prepared. */
function reader(db: SqliteDatabase.Database, metadata: MetadataStorage) {
  const prepared = new LRUCache<string, SqliteDatabase.Statement>({ max: maxPrepared })
  function prepare(sql: string): SqliteDatabase.Statement {
    let statement = prepared.get(sql)
    if (!statement) prepared.set(sql, (statement = db.prepare(avoidReplanning(sql))))
    return statement
  }
  function all({ sql, values, extremes }: Statement): unknown[] {
    const statement = prepare(sql)
    const found = statement.all(...(extremes ? values.map(forSqlite) : values))
    return extremes ? convertRows(metadata, sql, () => statement.columns(), extremes, found) : found
  }
  function first({ sql, values, extremes }: Statement): unknown {
    const statement = prepare(sql)
    const found = statement.get(...(extremes ? values.map(forSqlite) : values))
    return extremes && found !== undefined ? convertRows(metadata, sql, () => statement.columns(), extremes, [found])[0] : found
  }
  return { first, all }
}

/** Caches rows by statement and parameters, up to `maxBytes` bytes in total. Clears the whole cache when it is full. */
function rowCache(maxBytes: number) {
  const all = new Map<string, Map<string, unknown>>()
  let bytes = 0
  const clear = () => {
    for (const rows of all.values()) rows.clear()
    bytes = 0
  }
  return {
    get: (sql: string, key: string): unknown => all.get(sql)?.get(key),
    set(sql: string, key: string, row: unknown): void {
      const size = entryBytes(row, key)
      if (bytes + size > maxBytes) clear()
      if (size > maxBytes) return
      let rows = all.get(sql)
      if (!rows) all.set(sql, (rows = new Map<string, unknown>()))
      rows.set(copyOf(key), row)
      bytes += size
    },
    clear,
  }
}

/** Copies a string. A substring of a request path would keep the whole path in memory. */
const copyOf = (text: string): string => JSON.parse(JSON.stringify(text)) as string

/** Fast path: no retry overhead for the hottest reads. */
function retryWhileLocked<T>(read: () => T): Promise<T> {
  try {
    return Promise.resolve(read())
  } catch (error) {
    return retry(read, error)
  }
}

async function retry<T>(read: () => T, failure: unknown): Promise<T> {
  if (!isLockedError(failure)) throw failure
  const deadline = performance.now() + busyMs
  for (;;) {
    await unmetered(() => sleep(retryMs))
    try {
      return read()
    } catch (error) {
      if (!isLockedError(error) || performance.now() > deadline) throw error
    }
  }
}

/** Interval in milliseconds at which writes of other processes are checked. Such writes may go unnoticed for that long. */
const checkIntervalMs = 5

/**
 * Returns a function that reports whether anything was written since its previous call. Writes of this process are counted before the commit, so the
 * result is unknown during a transaction. Other processes are checked every few milliseconds, because the check takes a lock.
 */
function watch(reader: SqliteDatabase.Database, writer: Writer): () => 'nothing' | 'written' | 'under way' {
  const versionOfOthers = reader.prepare<[], number>('pragma data_version').pluck()
  let [own, others, checkedAt] = [-1, -1, 0]
  return () => {
    if (writer.inTransaction) return 'under way'
    const [ownBefore, othersBefore, now] = [own, others, performance.now()]
    own = writer.written
    if (now - checkedAt > checkIntervalMs) {
      others = versionOfOthers.get() ?? 0
      checkedAt = now
    }
    return own === ownBefore && others === othersBefore ? 'nothing' : 'written'
  }
}
