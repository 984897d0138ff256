import SqliteDatabase from 'better-sqlite3'
import { z } from 'zod'
import { hashFile } from '../backup/place/files.ts'
import type { DatabaseConfig } from '../db/options.ts'
import { lockSqlite } from '../db/lock.ts'
import { openBeside } from '../db/orm.ts'
import { conflict } from '../errors.ts'
import { areRemovalsHeld } from '../store/hold.ts'
import { idOfDatabase } from '../store/identity.ts'
import { type PlannedTable, quoted, selectFromSqlite } from './plan.ts'
import { canonicalRow } from './rows.ts'

/** An SQLite file that nobody changes while it is open. */
export type Source = {
  /** The id that ties it to its store of archives. */
  storeId: string
  /** The SHA-256 of the file. */
  sha256: string
  count: (table: string) => number
  /** The rows of a table by its key in their canonical form, after the first `done`. */
  rows: (table: PlannedTable, done?: number) => Generator<string, void>
  close: () => void
}

/**
 * Opens the SQLite file, and keeps servers and commands from changing it.
 * @throws Error when it is not there, a server has it, or its schema is another version's; ApiError Conflict while it is backed up.
 */
export async function openSource(config: DatabaseConfig): Promise<Source> {
  const path = config.SQLITE_PATH
  const storeId = await requireReady(config)
  const unlock = lockSqlite(`${path}.lock`)
  const db = new SqliteDatabase(path, { fileMustExist: true, timeout: 5000 })
  const close = () => {
    db.close()
    unlock()
  }
  try {
    // What a killed server left in the log beside the file belongs to it; then the file does not change any more.
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.exec('begin immediate')
    const { sha256 } = await hashFile(path)
    return { storeId, sha256, count: (table) => countIn(db, table), rows: (table, done) => rowsOf(db, table, done), close }
  } catch (error) {
    close()
    throw error
  }
}

async function requireReady(config: DatabaseConfig): Promise<string> {
  const orm = await openBeside(config, { isMove: true })
  try {
    const em = orm.em.fork()
    if (await areRemovalsHeld(em, new Date()))
      throw conflict('A backup of this server is running. Wait until it is complete, then run this again. Nothing was moved.')
    const id = await idOfDatabase(em)
    if (id === null) throw conflict(`No server has used ${config.SQLITE_PATH} yet. There is nothing to move.`)
    return id
  } finally {
    await orm.close(true)
  }
}

function countIn(db: SqliteDatabase.Database, table: string): number {
  return z.number().parse(
    db
      .prepare(`select count(*) from ${quoted(table)}`)
      .pluck()
      .get(),
  )
}

const rowShape = z.array(z.unknown())

function* rowsOf(db: SqliteDatabase.Database, table: PlannedTable, done = 0): Generator<string, void> {
  const statement = db
    .prepare(`${selectFromSqlite(table)} limit -1 offset ?`)
    .safeIntegers()
    .raw()
  let position = done
  for (const row of statement.iterate(BigInt(done))) {
    position++
    try {
      yield canonicalRow(table.columns, rowShape.parse(row))
    } catch (error) {
      throw conflict(
        `The row ${position} of the table ${table.name} cannot be moved: ${error instanceof Error ? error.message : String(error)}.`,
      )
    }
  }
}
