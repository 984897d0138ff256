import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { continueSequences } from '../backup/restore/postgres.ts'
import { syncDirectory } from '../blobs/directories.ts'
import type { Config } from '../config/config.ts'
import { nameOfDatabase } from '../db/missing.ts'
import { noteBeside } from '../db/moved.ts'
import { type ComparedTable, compareTable } from './compare-table.ts'
import { copyTable } from './copy-table.ts'
import { makeIndex } from './make-index.ts'
import { planMove, type PlannedTable } from './plan.ts'
import { openSource, type Source } from './source.ts'
import { openTarget, type Target } from './target.ts'

/** How far a move is: what it does, in which table, and how many rows or packages of all are done. */
export type MoveProgress = { step: 'copying' | 'comparing' | 'indexing'; table: string; done: number; total: number }
/** What was moved, and whether an interrupted move was gone on with. */
export type Moved = { tables: ComparedTable[]; isContinued: boolean }

type Tell = (progress: MoveProgress) => void
type Move = { source: Source; target: Target; tables: PlannedTable[]; tell: Tell }

/**
 * Moves everything in the SQLite file of the settings to the PostgreSQL database of `to`: copies the rows, compares every one, makes the search
 * index, and only then lets servers use the database. The file stays as it is, with a note beside it that keeps servers from using it. What is
 * interrupted is run again, and goes on where it was.
 * @throws ApiError Conflict, ConfigError when it cannot be done; see `openSource` and `openTarget`.
 */
export async function moveDatabase(from: Config, to: Config, tell: Tell): Promise<Moved> {
  const source = await openSource(from)
  try {
    const target = await openTarget(from, to, source)
    try {
      const tables = await planMove(target.client)
      const compared = await bringRows({ source, target, tables, tell })
      await makeIndex(to, target.client, (done, total) => tell({ step: 'indexing', table: 'packages', done, total }))
      await leaveNote(from, to)
      await target.release()
      return { tables: compared, isContinued: target.isContinued }
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

const comparedShape = z.array(z.object({ name: z.string(), rows: z.number(), sha256: z.string() }))
const comparedNote = 'compared'

/** Copies what is missing, then compares everything; an interrupted move that did so before only gives what it found. */
async function bringRows({ source, target, tables, tell }: Move): Promise<ComparedTable[]> {
  const earlier = await target.read(comparedNote)
  if (earlier !== null) return comparedShape.parse(JSON.parse(earlier))
  const total = tables.reduce((sum, { name }) => sum + source.count(name), 0)
  let before = 0
  for (const table of tables) {
    await copyTable(source, target, table, (done) => tell({ step: 'copying', table: table.name, done: before + done, total }))
    before += source.count(table.name)
  }
  await continueSequences(target.client)
  await target.client.query('analyze')
  const compared: ComparedTable[] = []
  before = 0
  for (const table of tables) {
    const tellRows = (done: number) => tell({ step: 'comparing', table: table.name, done: before + done, total })
    const one = await compareTable(source, target.client, table, tellRows)
    compared.push(one)
    before += one.rows
  }
  await target.write(comparedNote, JSON.stringify(compared))
  return compared
}

/** Two databases must not work with one store: what one removes, the other may name. */
async function leaveNote({ SQLITE_PATH }: Config, to: Config): Promise<void> {
  const path = noteBeside(SQLITE_PATH)
  {
    await using file = await open(path, 'w', 0o600)
    await file.writeFile(`Everything in ${SQLITE_PATH} was moved to ${nameOfDatabase(to)} at ${new Date().toISOString()}.\n`)
    await file.sync()
  }
  await syncDirectory(dirname(path))
}
