import type { Database } from 'better-sqlite3'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isSliceOver, nextSlice } from '../../platform/threads/slices.ts'
import type { SnapshotTable } from './manifest.ts'

/** Returns the row count and hash of every table of an SQLite copy. Virtual tables are covered only by the hash of the file. */
export async function summarizeTables(db: Database, signal: AbortSignal): Promise<SnapshotTable[]> {
  const names = db.prepare("select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%'")
  const tables: SnapshotTable[] = []
  for (const name of z.array(z.string()).parse(names.pluck().all()).toSorted()) tables.push(await summarize(db, name, signal))
  return tables
}

async function summarize(db: Database, name: string, signal: AbortSignal): Promise<SnapshotTable> {
  const statement = db.prepare(`select * from "${name}"`).safeIntegers().raw()
  const sum = createHash('sha256')
  let rows = 0
  for (const row of statement.iterate()) {
    sum.update(`${JSON.stringify(z.array(z.unknown()).parse(row).map(plain))}\n`)
    rows++
    if (!isSliceOver()) continue
    signal.throwIfAborted()
    await nextSlice()
  }
  return { name, columns: statement.columns().map((column) => column.name), rows, sha256: sum.digest('hex') }
}

/** Converts an SQLite value to JSON in a form that preserves its type. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return { integer: String(value) }
  return Buffer.isBuffer(value) ? { blob: value.toString('base64') } : value
}
