import SqliteDatabase from 'better-sqlite3'
import { setTimeout as sleep } from 'node:timers/promises'
import { unmetered } from './meter.ts'
import type { Parameter, Source } from './reads.ts'
import { isBusy } from './sqlite-turn.ts'

type Prepared = { statement: SqliteDatabase.Statement; remembered: Map<string, unknown> }

const maxRemembered = 2000

/** Other processes hold a file in WAL mode so that nobody can read only for moments: this long a read waits, trying anew without blocking. */
const busyMs = 1500
const retryMs = 20

/** Reads on a connection of their own. `writer` gives the one that this process writes on. */
export function sqliteReads(path: string, writer: () => SqliteDatabase.Database): Source {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: retryMs })
  const prepared = new Map<string, Prepared>()
  const notice = watch(db, writer)
  function prepare(sql: string): Prepared {
    let entry = prepared.get(sql)
    if (!entry) prepared.set(sql, (entry = { statement: db.prepare(plannedOnce(sql)), remembered: new Map() }))
    return entry
  }
  function recall(sql: string, parameters: Parameter[]): unknown {
    const { statement, remembered } = prepare(sql)
    const change = notice()
    if (change === 'under way') return statement.get(...parameters)
    if (change === 'written') for (const entry of prepared.values()) entry.remembered.clear()
    const key = parameters.join('\0')
    const known = remembered.get(key)
    if (known !== undefined) return known
    const row = statement.get(...parameters)
    if (remembered.size >= maxRemembered) remembered.clear()
    if (row !== undefined) remembered.set(key, row)
    return row
  }
  return {
    row: (sql, parameters) => whenFree(() => prepare(sql).statement.get(...parameters)),
    rows: (sql, parameters) => whenFree(() => prepare(sql).statement.all(...parameters)),
    recalled: (sql, parameters) => whenFree(() => recall(sql, parameters)),
    async close() {
      db.close()
    },
  }
}

async function whenFree<T>(read: () => T): Promise<T> {
  const deadline = performance.now() + busyMs
  for (;;) {
    try {
      return read()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await unmetered(() => sleep(retryMs))
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
 * Tells whether anything was written since it was asked before. This process's own writes are seen at once, by the count that SQLite keeps of
 * them; it counts before the commit, so while a transaction is open nothing can be said. Writes of another process, such as the operator's
 * commands, are looked for every few milliseconds, because that takes a lock.
 */
function watch(reader: SqliteDatabase.Database, writer: () => SqliteDatabase.Database): () => 'nothing' | 'written' | 'under way' {
  let countOwn = countChanges(writer())
  const versionOfOthers = reader.prepare<[], number>('pragma data_version').pluck()
  let [own, others, glancedAt] = [-1, -1, 0]
  return () => {
    const native = writer()
    if (native.inTransaction) return 'under way'
    // A connection that was opened anew counts from the beginning.
    if (countOwn.database !== native) [countOwn, own] = [countChanges(native), -1]
    const [ownBefore, othersBefore, now] = [own, others, performance.now()]
    own = countOwn.get() ?? 0
    if (now - glancedAt > glanceMs) {
      others = versionOfOthers.get() ?? 0
      glancedAt = now
    }
    return own === ownBefore && others === othersBefore ? 'nothing' : 'written'
  }
}

const countChanges = (native: SqliteDatabase.Database) => native.prepare<[], number>('select total_changes()').pluck()
