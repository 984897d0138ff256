import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { continueSequences } from '../backup/restore/postgres.ts'
import { syncDirectory } from '../../platform/blobs/directories.ts'
import type { Config } from '../../platform/config/config.ts'
import { nameOfDatabase } from '../../platform/db/location/missing.ts'
import { moveMarkerPath } from '../../platform/db/location/moved.ts'
import { clearChangedTables } from './changed-tables.ts'
import { type ComparedTable, compareTable } from './compare-table.ts'
import { copyTable } from './copy-table.ts'
import { buildIndex } from './build-index.ts'
import { planMove } from './plan.ts'
import { openSource } from './source.ts'
import { openTarget } from './target.ts'
import type { Move, MoveProgress, ReportProgress } from './progress.ts'

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
    const target = await openTarget(from, to, source)
    try {
      const tables = await planMove(target.client)
      const compared = await copyRows({ source, target, tables, report })
      await buildIndex(to, target.client, (done, total) => report({ step: 'indexing', table: 'packages', done, total }))
      await writeMarker(from, to)
      await target.release()
      return { tables: compared, isContinued: target.isContinued }
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

/** Copies the rows that the target does not have yet, then compares all rows. */
async function copyRows(move: Move): Promise<ComparedTable[]> {
  const { source, target, tables, report } = move
  if (target.isContinued) await clearChangedTables(move)
  const counts = tables.map(({ name }) => source.count(name))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const before = counts.map((_count, index) => counts.slice(0, index).reduce((sum, count) => sum + count, 0))
  const reporter = (step: MoveProgress['step'], index: number) => (done: number) =>
    report({ step, table: tables[index]?.name ?? '', done: (before[index] ?? 0) + done, total })
  for (const [index, table] of tables.entries()) await copyTable(source, target, table, reporter('copying', index))
  await continueSequences(target.client)
  await target.client.query('analyze')
  const compared: ComparedTable[] = []
  for (const [index, table] of tables.entries())
    compared.push(await compareTable(source, target.client, table, reporter('comparing', index)))
  return compared
}

/** Writes the marker file. Two databases must not share a blob store, since each would delete blobs that only the other one refers to. */
async function writeMarker({ SQLITE_PATH }: Config, to: Config): Promise<void> {
  const path = moveMarkerPath(SQLITE_PATH)
  {
    await using file = await open(path, 'w', 0o600)
    await file.writeFile(`Everything in ${SQLITE_PATH} was moved to ${nameOfDatabase(to)} at ${new Date().toISOString()}.\n`)
    await file.sync()
  }
  await syncDirectory(dirname(path))
}
