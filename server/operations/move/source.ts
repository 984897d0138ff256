import type { EntityManager } from '@mikro-orm/sql'
import SqliteDatabase from 'better-sqlite3'
import { escapeIdentifier } from 'pg'
import { z } from 'zod'
import type { DatabaseConfig } from '../../platform/db/options.ts'
import { lockSqlite } from '../../platform/db/location/files.ts'
import { moveLockPath } from '../../platform/db/location/moved.ts'
import { openUnlocked } from '../../platform/db/open/orm.ts'
import { conflict } from '../../errors.ts'
import { areRemovalsHeld } from '../../platform/store/hold.ts'
import { readStoreId } from '../../platform/store/identity.ts'
import { movedTables, type PlannedTable, selectFromSqlite } from './plan.ts'

/** An SQLite file that is locked against changes while it is open. A server can still read it. */
export type Source = Awaited<ReturnType<typeof openSource>>

/**
 * Opens the SQLite file and blocks changes by servers and commands until it is closed or the process ends.
 * @throws Error when the file is missing or its schema has another version; ApiError Conflict while it is being moved or backed up.
 */
export async function openSource(config: DatabaseConfig) {
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
    return {
      /** The id that links the database to its archive store. */
      storeId,
      /** Names of the tables to move. */
      tables: movedTables(orm.em),
      count: (table: string): number =>
        z.number().parse(
          db
            .prepare(`select count(*) from ${escapeIdentifier(table)}`)
            .pluck()
            .get(),
        ),
      /** Returns the rows of a table in key order and canonical form, skipping the first `done` rows. */
      rows: (table: PlannedTable, done = 0) => rowsOf(db, table, done),
      close,
    }
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
  const id = await readStoreId(em)
  if (id === null) throw conflict(`No server has used ${SQLITE_PATH} yet. There is nothing to move.`)
  return id
}

const rowShape = z.array(z.unknown())

function* rowsOf(db: SqliteDatabase.Database, table: PlannedTable, done: number): Generator<string, void> {
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

type Column = PlannedTable['columns'][number]

/**
 * Formats a row of SQLite in PostgreSQL's COPY text format with timestamps in UTC. Rows are sent, compared and hashed in this canonical form.
 * Integers must be given as bigint.
 * @throws Error for a value that does not fit its column. The message does not contain the value.
 */
export function canonicalRow(columns: readonly Column[], values: readonly unknown[]): string {
  return columns.map((column, index) => field(column, values[index])).join('\t')
}

function field({ name, type }: Column, value: unknown): string {
  if (value === null) return '\\N'
  const text = forms[type]?.(value)
  if (text === undefined) throw new Error(`the column ${name} (${type}) has a value that PostgreSQL cannot keep`)
  return text
}

/** Formats a value of each type. Returns undefined for a value that is not valid for the type. */
const forms: Record<string, (value: unknown) => string | undefined> = {
  uuid: text,
  varchar: text,
  text,
  int2: whole,
  int4: whole,
  int8: whole,
  bool: (value) => (value === 1n ? 't' : value === 0n ? 'f' : undefined),
  timestamptz: moment,
  bytea: (value) => (Buffer.isBuffer(value) ? `\\\\x${value.toString('hex')}` : undefined),
}

function whole(value: unknown): string | undefined {
  return typeof value === 'bigint' ? String(value) : undefined
}

/** Rejects texts with NUL characters, which PostgreSQL does not support. */
function text(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.includes('\0')) return undefined
  return value.replaceAll(/[\\\b\f\n\r\t\v]/g, (character) => escapes[character] ?? character)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' }

/** Formats a timestamp given in milliseconds since 1970. */
function moment(value: unknown): string | undefined {
  const date = new Date(typeof value === 'bigint' ? Number(value) : Number.NaN)
  const year = date.getUTCFullYear()
  if (!(year >= 1)) return undefined
  // PostgreSQL pads years to at least four digits and omits trailing zeros of fractional seconds.
  const [, rest = '', fraction = ''] = /-(\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})Z$/.exec(date.toISOString()) ?? []
  const digits = fraction.replace(/0+$/, '')
  return `${String(year).padStart(4, '0')}-${rest.replace('T', ' ')}${digits && `.${digits}`}+00`
}
