import SqliteDatabase from 'better-sqlite3'
import { join } from 'node:path'
import { z } from 'zod'
import { restrictToOwner } from '../../platform/db/location/files.ts'
import { isSliceOver, yieldToEventLoop } from '../../platform/threads/slices.ts'
import { lineOf, namedBlobs } from './blob-lists.ts'
import type { Snapshot, SnapshotTable } from './manifest.ts'
import { hashFile, writeHashed } from './place/files.ts'
import { blobList, sqliteFile } from './place/place.ts'
import { createHash } from 'node:crypto'

/** Number of pages copied before yielding to the event loop (1 MiB). */
const pagesAtOnce = 256

/** Opens an SQLite file, runs `work` and closes the file. Unlike a server, does not lock the file against other programs. */
export async function withSqlite<Result>(
  path: string,
  options: SqliteDatabase.Options,
  work: (db: SqliteDatabase.Database) => Result | Promise<Result>,
): Promise<Result> {
  const db = new SqliteDatabase(path, { fileMustExist: true, ...options })
  try {
    return await work(db)
  } finally {
    db.close()
  }
}

/** Returns the id that links a database to its archive store; null if it has none. */
export function storeIdOf(db: SqliteDatabase.Database): string | null {
  const value = db.prepare("select value from server_settings where key = 'store.id'").pluck().get()
  return typeof value === 'string' ? z.string().parse(JSON.parse(value)) : null
}

/** Copies an SQLite file with SQLite's online backup API. */
export async function snapshotSqlite(path: string, folder: string, signal: AbortSignal): Promise<Snapshot> {
  const copy = join(folder, sqliteFile)
  restrictToOwner(copy)
  await withSqlite(path, { readonly: true, timeout: 5000 }, (source) => copyOnline(source, copy, signal))
  return withSqlite(copy, {}, async (db) => {
    // Without a write-ahead log the copy is a single file and can be opened on read-only media.
    db.pragma('journal_mode = DELETE')
    const list = { name: blobList, ...(await writeHashed(join(folder, blobList), linesOf(db, signal))) }
    const tables = await summarizeTables(db, signal)
    const migrations = z.array(z.string()).parse(db.prepare('select name from schema_migrations order by name').pluck().all())
    const file = { name: sqliteFile, ...(await hashFile(copy)) }
    return { storeId: z.string().parse(storeIdOf(db)), migrations, tables, files: [file, list] }
  })
}

/** Copies the database inside a read transaction. Without it, SQLite restarts the backup after every write. */
async function copyOnline(source: SqliteDatabase.Database, copy: string, signal: AbortSignal): Promise<void> {
  source.exec('begin')
  source.prepare('select count(*) from sqlite_master').get()
  await source.backup(copy, {
    progress() {
      signal.throwIfAborted()
      return pagesAtOnce
    },
  })
}

const blobShape = z.object({ sha256: z.string(), bytes: z.number(), store: z.enum(['archives', 'docs']) })

async function* linesOf(db: SqliteDatabase.Database, signal: AbortSignal): AsyncGenerator<string> {
  for (const row of db.prepare(namedBlobs).iterate()) {
    yield lineOf(blobShape.parse(row))
    if (!isSliceOver()) continue
    signal.throwIfAborted()
    await yieldToEventLoop()
  }
}

/** Returns the row count and hash of every table of an SQLite copy. Virtual tables are covered only by the hash of the file. */
export async function summarizeTables(db: SqliteDatabase.Database, signal: AbortSignal): Promise<SnapshotTable[]> {
  const names = db.prepare("select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%'")
  const tables: SnapshotTable[] = []
  for (const name of z.array(z.string()).parse(names.pluck().all()).toSorted()) tables.push(await summarize(db, name, signal))
  return tables
}

async function summarize(db: SqliteDatabase.Database, name: string, signal: AbortSignal): Promise<SnapshotTable> {
  const statement = db.prepare(`select * from "${name}"`).safeIntegers().raw()
  const sum = createHash('sha256')
  let rows = 0
  for (const row of statement.iterate()) {
    sum.update(`${JSON.stringify(z.array(z.unknown()).parse(row).map(plain))}\n`)
    rows++
    if (!isSliceOver()) continue
    signal.throwIfAborted()
    await yieldToEventLoop()
  }
  return { name, columns: statement.columns().map((column) => column.name), rows, sha256: sum.digest('hex') }
}

/** Converts an SQLite value to JSON in a form that preserves its type. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return { integer: String(value) }
  return Buffer.isBuffer(value) ? { blob: value.toString('base64') } : value
}
