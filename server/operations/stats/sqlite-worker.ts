import SqliteDatabase from 'better-sqlite3'
import { answerQuestions } from '../../platform/threads/worker.ts'
import type { Sizes, Relation } from './measurement.ts'

type Measured = { db: SqliteDatabase.Database; deadline: number }

// Runs in a worker thread, because it reads every page of the file, which takes a second per gigabyte or more.
answerQuestions(({ path, budgetMs }: { path: string; budgetMs: number }): Sizes => {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 1000 })
  const measured = { db, deadline: performance.now() + budgetMs }
  try {
    return {
      archiveBytes: sumOf(measured, 'archive_bytes', 'package_versions'),
      docsBytes: sumOf(measured, 'bytes', 'version_docs'),
      relations: relations(measured),
    }
  } finally {
    db.close()
  }
})

/** Sums up a column. Returns null if the time limit is exceeded. */
function sumOf({ db, deadline }: Measured, column: string, table: string): number | null {
  const rows = db.prepare<[], number>(`select ${column} from ${table}`).pluck().iterate()
  return inTime(deadline, rows, (sum, bytes) => sum + bytes, 0)
}

/** Sums up the pages in `dbstat` by table and index. Returns null if the time limit is exceeded. */
function relations({ db, deadline }: Measured): Relation[] | null {
  type Page = [name: string, type: string, cells: number, bytes: number]
  // Indexes and tables WITHOUT ROWID also store entries in their internal pages.
  const tables = new Set(db.prepare<[], string>('select name from pragma_table_list').pluck().all())
  const byKey = new Set(db.prepare<[], string>('select name from pragma_table_list where wr = 1').pluck().all())
  const found = new Map<string, Relation>()
  const pages = db.prepare<[], Page>('select name, pagetype, ncell, pgsize from dbstat').raw().iterate() as Iterable<Page>
  const add = (sum: Map<string, Relation>, [name, type, cells, bytes]: Page) => {
    const kind = tables.has(name) ? 'table' : 'index'
    const relation = sum.get(name) ?? { name, kind, sizeBytes: 0, rows: 0 }
    relation.sizeBytes += bytes
    if (type === 'leaf' || (type === 'internal' && (kind === 'index' || byKey.has(name)))) relation.rows = (relation.rows ?? 0) + cells
    return sum.set(name, relation)
  }
  const all = inTime(deadline, pages, add, found)
  return all && [...all.values()]
}

function inTime<Row, Sum>(deadline: number, rows: Iterable<Row>, add: (sum: Sum, row: Row) => Sum, start: Sum): Sum | null {
  let sum = start
  let seen = 0
  for (const row of rows) {
    if (seen++ % 1024 === 0 && performance.now() > deadline) return null
    sum = add(sum, row)
  }
  return sum
}
