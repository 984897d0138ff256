import SqliteDatabase from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { setTimeout as sleep } from 'node:timers/promises'
import { entryBytes } from '../../http/caching/caches.ts'
import { unmetered } from '../meter.ts'
import type { Parameter, Source } from './reads.ts'
import { isBusy } from '../sqlite/sqlite-turn.ts'

/** Statements that the connection keeps prepared. A search has a statement for each combination of filters, so there are many. */
const maxPrepared = 200

/** Other processes hold a file in WAL mode so that nobody can read only for moments: this long a read waits, trying anew without blocking. */
const busyMs = 1500
const retryMs = 20

/** How much of the file a connection keeps at hand, in KB. The operating system has the rest at hand, and reading it there costs little. */
export const cacheSize = 'cache_size = -6000'

/** The connection that this process writes on, and how often it may have written. */
type Writer = { readonly inTransaction: boolean; readonly written: number }

/** Reads on a connection of their own. `writer` is what this process writes through; rows of `maxRowBytes` bytes are remembered. */
export function sqliteReads(path: string, writer: Writer, maxRowBytes: number): Source {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: retryMs })
  db.pragma(cacheSize)
  const prepared = new LRUCache<string, SqliteDatabase.Statement>({ max: maxPrepared })
  const rows = rememberedRows(maxRowBytes)
  const notice = watch(db, writer)
  const counts = { hits: 0, misses: 0 }
  function prepare(sql: string): SqliteDatabase.Statement {
    let statement = prepared.get(sql)
    if (!statement) prepared.set(sql, (statement = db.prepare(plannedOnce(sql))))
    return statement
  }
  function recall(sql: string, parameters: Parameter[]): unknown {
    const change = notice()
    if (change === 'under way') return prepare(sql).get(...parameters)
    if (change === 'written') rows.clear()
    const key = parameters.join('\0')
    const known = rows.get(sql, key)
    if (known !== undefined) {
      counts.hits++
      return known
    }
    counts.misses++
    const row = prepare(sql).get(...parameters)
    if (row !== undefined) rows.set(sql, key, row)
    return row
  }
  return {
    row: (sql, parameters) => whenFree(() => prepare(sql).get(...parameters)),
    rows: (sql, parameters) => whenFree(() => prepare(sql).all(...parameters)),
    recalled: (sql, parameters) => whenFree(() => recall(sql, parameters)),
    counts,
    async close() {
      db.close()
    },
  }
}

/** Rows by statement and parameters, of `maxBytes` bytes together: when there is no more room, all are forgotten. */
function rememberedRows(maxBytes: number) {
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

/** Copies a text. One that was cut out of the path of a request would keep all of the path in memory. */
const copyOf = (text: string): string => JSON.parse(JSON.stringify(text)) as string

/** Without waiting, hardly anything: this is on the way of the most frequent requests. */
function whenFree<T>(read: () => T): Promise<T> {
  try {
    return Promise.resolve(read())
  } catch (error) {
    return retry(read, error)
  }
}

async function retry<T>(read: () => T, failure: unknown): Promise<T> {
  if (!isBusy(failure)) throw failure
  const deadline = performance.now() + busyMs
  for (;;) {
    await unmetered(() => sleep(retryMs))
    try {
      return read()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
  }
}

/**
 * SQLite looks at the value of a bare parameter when it plans a join, and so plans it anew for every value, which takes three times as long
 * as running it. It does not look into a subquery, which means the same.
 */
const plannedOnce = (sql: string) => sql.replaceAll('= ?', '= (select ?)')

/** For how long another process may have written unnoticed. */
const glanceMs = 5

/**
 * Tells whether anything was written since it was asked before. This process's own writes are seen at once, by the count that is kept of
 * them; they count before the commit, so while a transaction is open nothing can be said. Writes of another process, such as the operator's
 * commands, are looked for every few milliseconds, because that takes a lock.
 */
function watch(reader: SqliteDatabase.Database, writer: Writer): () => 'nothing' | 'written' | 'under way' {
  const versionOfOthers = reader.prepare<[], number>('pragma data_version').pluck()
  let [own, others, glancedAt] = [-1, -1, 0]
  return () => {
    if (writer.inTransaction) return 'under way'
    const [ownBefore, othersBefore, now] = [own, others, performance.now()]
    own = writer.written
    if (now - glancedAt > glanceMs) {
      others = versionOfOthers.get() ?? 0
      glancedAt = now
    }
    return own === ownBefore && others === othersBefore ? 'nothing' : 'written'
  }
}
