import type { EntityManager } from '@mikro-orm/sql'
import SqliteDatabase from 'better-sqlite3'
import { z } from 'zod'
import type { DatabaseConfig } from '../../platform/db/options.ts'
import { lockSqlite } from '../../platform/db/location/lock.ts'
import { moveLockPath } from '../../platform/db/location/moved.ts'
import { openUnlocked } from '../../platform/db/open/orm.ts'
import { conflict } from '../../errors.ts'
import { areRemovalsHeld } from '../../platform/store/hold.ts'
import { databaseId } from '../../platform/store/identity.ts'
import { type PlannedTable, quoted, selectFromSqlite } from './plan.ts'
import { canonicalRow } from './rows.ts'

/** An SQLite file that is locked against changes while it is open. A server can still read it. */
export type Source = {
  /** The id that links the database to its archive store. */
  storeId: string
  count: (table: string) => number
  /** Returns the rows of a table in key order and canonical form, skipping the first `done` rows. */
  rows: (table: PlannedTable, done?: number) => Generator<string, void>
  close: () => void
}

/**
 * Opens the SQLite file and blocks changes by servers and commands until it is closed or the process ends.
 * @throws Error when the file is missing or its schema has another version; ApiError Conflict while it is being moved or backed up.
 */
export async function openSource(config: DatabaseConfig): Promise<Source> {
  const orm = await openUnlocked(config, { isMove: true })
  const path = config.SQLITE_PATH
  const unlock = lockMove(path)
  const db = new SqliteDatabase(path, { fileMustExist: true, timeout: patienceMs })
  const close = () => {
    db.close()
    unlock()
  }
  try {
    // The write lock waits for running writes to commit, and blocks all later ones.
    db.exec('begin immediate')
    const storeId = await requireReady(orm.em.fork(), config)
    return { storeId, count: (table) => countIn(db, table), rows: (table, done) => rowsOf(db, table, done), close }
  } catch (error) {
    close()
    throw error
  } finally {
    await orm.close(true)
  }
}

/** How long to wait for running writes of a server to commit. */
const patienceMs = 30_000
/** How long to wait for the move lock. Servers test for a running move by taking the lock for a moment. */
const lookMs = 1000

function lockMove(path: string): () => void {
  try {
    return lockSqlite(moveLockPath(path), lookMs)
  } catch {
    throw conflict(`Another move of ${path} is running. Wait until it ends.`)
  }
}

async function requireReady(em: EntityManager, { SQLITE_PATH }: DatabaseConfig): Promise<string> {
  if (await areRemovalsHeld(em, new Date()))
    throw conflict('A backup of this server is running. Wait until it is complete, then run this again. Nothing was moved.')
  const id = await databaseId(em)
  if (id === null) throw conflict(`No server has used ${SQLITE_PATH} yet. There is nothing to move.`)
  return id
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
