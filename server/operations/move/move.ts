import type { Client } from 'pg'
import { z } from 'zod'
import { continueSequences, query } from '../backup/postgres.ts'
import { writeMarker } from '../../platform/blobs/durable-files.ts'
import type { Config } from '../../platform/config/config.ts'
import { nameOfDatabase } from '../../platform/db/location/missing.ts'
import { moveMarkerPath } from '../../platform/db/location/moved.ts'
import { openDatabase } from '../../platform/db/open/orm.ts'
import { openLog } from '../../platform/http/log.ts'
import { completeIndex } from '../../registry/search/rebuild.ts'
import { type ComparedTable, compareRows, compareTable, copyTable } from './copy.ts'
import { planMove, type PlannedTable } from './plan.ts'
import { openSource, type Source } from './source.ts'
import { clearTables, copiedNote, openTarget, readNote, release } from './target.ts'

/** Result of a database move, and whether it continued an interrupted one. */
export type Moved = { tables: ComparedTable[]; isContinued: boolean }

/**
 * Moves all data from the SQLite file of `from` to the PostgreSQL database of `to`. Copies the rows, compares each of them, builds the search
 * index, and only then allows servers to use the database. A server may keep running on the file: it serves reads and rejects changes during the
 * move. It also rejects changes afterwards, because a marker file next to the SQLite file blocks further use. The SQLite file is not changed. An
 * interrupted move can be run again: it continues where it stopped and copies rows that changed since then again.
 * @throws ApiError Conflict or ConfigError when the move is not possible; see `openSource` and `openTarget`.
 */
export async function moveDatabase(from: Config, to: Config, report: ReportProgress): Promise<Moved> {
  const source = await openSource(from)
  try {
    const { client, isContinued } = await openTarget(from, to, source)
    try {
      const move = { source, client, tables: await planMove(client, source.tables), report }
      if (isContinued) await clearChangedTables(move)
      const tables = await copyRows(move)
      await buildIndex(to, client, (done, total) => report({ step: 'indexing', table: 'packages', done, total }))
      await markMoved(from, to)
      await release(client)
      return { tables, isContinued }
    } finally {
      await client.end()
    }
  } finally {
    source.close()
  }
}

/** Copies the rows that the target does not have yet, then compares all rows. */
async function copyRows({ source, client, tables, report }: Move): Promise<ComparedTable[]> {
  const counts = tables.map(({ name }) => source.count(name))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const before = counts.map((_count, index) => counts.slice(0, index).reduce((sum, count) => sum + count, 0))
  const reporter = (step: MoveProgress['step'], index: number) => (done: number) =>
    report({ step, table: tables[index]?.name ?? '', done: (before[index] ?? 0) + done, total })
  for (const [index, table] of tables.entries()) await copyTable(source, client, table, reporter('copying', index))
  await continueSequences(client)
  await client.query('analyze')
  const compared: ComparedTable[] = []
  for (const [index, table] of tables.entries()) compared.push(await compareTable(source, client, table, reporter('comparing', index)))
  return compared
}

/** Writes the marker file. Two databases must not share a blob store, since each would delete blobs that only the other one refers to. */
async function markMoved({ SQLITE_PATH }: Config, to: Config): Promise<void> {
  const text = `Everything in ${SQLITE_PATH} was moved to ${nameOfDatabase(to)} at ${new Date().toISOString()}.`
  await writeMarker(moveMarkerPath(SQLITE_PATH), text, { replace: true, mode: 0o600 })
}

const counts = z.object({ done: z.coerce.number(), total: z.coerce.number() })

/**
 * Builds the search index after all packages were copied. An interrupted run continues with the missing packages. `report` receives the progress
 * every second.
 */
async function buildIndex(config: Config, client: Client, report: (done: number, total: number) => void): Promise<void> {
  const database = await openDatabase(config, { isMove: true })
  const count = async () => {
    const sql = 'select (select count(*) from package_search_documents) as done, (select count(*) from packages) as total'
    for (const { done, total } of await query(client, counts, sql)) report(done, total)
  }
  // Errors are ignored here: a broken connection also fails the index build, which reports the error.
  const timer = setInterval(() => void count().catch(() => {}), 1000)
  try {
    await completeIndex({ config, database, log: openLog('error', () => {}), now: database.now, state: {} })
  } finally {
    clearInterval(timer)
    await database.close()
  }
  await count()
}

/** Search tables. They are derived from the other tables, so they are rebuilt when any of those changed. */
const index = [
  'package_search_documents',
  'package_search_brief',
  'package_search_full',
  'package_search_symbols',
  'package_search_symbol_terms',
]

/**
 * Prepares the continuation of an interrupted move: clears the target tables whose copied rows differ from the SQLite file, and the tables that
 * refer to them. Rows appended after the last copied row are left to the copy step.
 */
async function clearChangedTables({ source, client, tables, report }: Move): Promise<void> {
  const copied: number[] = []
  for (const { name } of tables) copied.push(Number((await readNote(client, copiedNote(name))) ?? 0))
  const total = copied.reduce((sum, count) => sum + count, 0)
  const changed: string[] = []
  let [before, isIndexed] = [0, true]
  for (const [position, table] of tables.entries()) {
    const count = copied[position] ?? 0
    isIndexed &&= count === source.count(table.name)
    if (count === 0) continue
    const reportRows = (done: number) => report({ step: 'checking', table: table.name, done: before + done, total })
    const { rows, isEqual } = await compareRows(source, client, table, reportRows)
    if (!isEqual || rows !== count) changed.push(table.name)
    before += count
  }
  if (changed.length > 0 || !isIndexed) await clearTables(client, [...changed, ...index])
}

/** Progress of a move: the current step and table, and the number of processed rows or packages out of all. */
export type MoveProgress = { step: 'checking' | 'copying' | 'comparing' | 'indexing'; table: string; done: number; total: number }
/** Callback that receives the progress of a move. */
type ReportProgress = (progress: MoveProgress) => void
/** A running move: the databases, the tables and the progress callback. */
type Move = { source: Source; client: Client; tables: PlannedTable[]; report: ReportProgress }
