import { type Client, escapeIdentifier } from 'pg'
import { z } from 'zod'
import {
  byReference,
  hasCopiedTable,
  lockDatabase,
  makeSchema,
  query,
  quotedList,
  requireNoServer,
  setTriggers,
} from '../backup/postgres.ts'
import { explainMissing, nameOfDatabase } from '../../platform/db/location/missing.ts'
import { rejectMoved, unfinishedTable } from '../../platform/db/location/moved.ts'
import type { DatabaseConfig } from '../../platform/db/options.ts'
import { conflict } from '../../errors.ts'
import type { Source } from './source.ts'

/**
 * Opens the PostgreSQL database to move to, locks it for exclusive use and creates its schema. It must be empty, or contain an interrupted move of
 * the same file (`isContinued`), whose copied rows may have changed in the file since.
 * @throws ApiError Conflict for a database with other tables, or one that is in use; ConfigError when it cannot be used.
 */
export async function openTarget(
  from: DatabaseConfig,
  to: DatabaseConfig,
  source: Source,
): Promise<{ client: Client; isContinued: boolean }> {
  const client = await lockDatabase(to.POSTGRES_URL ?? '').catch((error: unknown) => {
    throw explainMissing(error, to)
  })
  try {
    const isContinued = await isPartOf(client, to, source)
    if (!isContinued) {
      rejectMoved(from)
      await claim(client, to, source)
    }
    await makeSchema(to)
    return { client, isContinued }
  } catch (error) {
    await client.end()
    throw error
  }
}

/** Returns whether the database contains an interrupted move of this file. */
async function isPartOf(client: Client, to: DatabaseConfig, source: Source): Promise<boolean> {
  if (!(await hasCopiedTable(client, unfinishedTable))) return false
  if ((await readNote(client, 'store')) === source.storeId) return true
  throw conflict(`Another SQLite database is being moved to ${nameOfDatabase(to)}. Name an empty database, or run the move of that one.`)
}

/** Marks the database as unfinished. No server starts with it until the move is complete. */
async function claim(client: Client, to: DatabaseConfig, source: Source): Promise<void> {
  await requireEmpty(client, to)
  await client.query('begin')
  await client.query(`create table ${unfinishedTable} (key text primary key, value text not null)`)
  await writeNote(client, 'store', source.storeId)
  await client.query('commit')
  // A server that started right before the mark was written may have missed it.
  await requireNoServer(client).catch(async (error: unknown) => {
    await release(client)
    throw error
  })
}

/** Removes the mark and all notes, so that servers can use the database. */
export const release = async (client: Client): Promise<void> => void (await client.query(`drop table ${unfinishedTable}`))

async function requireEmpty(client: Client, config: DatabaseConfig): Promise<void> {
  const tables = await client.query('select from pg_tables where schemaname = current_schema() limit 1')
  if (tables.rowCount === 0) return
  throw conflict(`${capitalized(nameOfDatabase(config))} is not empty. Create a new, empty database (createdb) and name that one.`)
}

/** Deletes all rows of the given tables and of the tables that refer to them. */
export async function clearTables(client: Client, tables: string[]): Promise<void> {
  const all = (await byReference(client)).filter((name) => name !== unfinishedTable)
  await client.query('begin')
  await setTriggers(client, all, 'disable')
  await client.query(`truncate ${quotedList(tables)} cascade`)
  await setTriggers(client, all, 'enable')
  for (const name of all) {
    const { rowCount } = await client.query(`select from ${escapeIdentifier(name)} limit 1`)
    if (rowCount === 0) await client.query(`delete from ${unfinishedTable} where key = $1`, [copiedNote(name)])
  }
  await client.query('commit')
}

/** Returns the key of the note with the number of copied rows of a table. */
export const copiedNote = (table: string): string => `copied ${table}`

/** Reads a note about the progress of the move. */
export async function readNote(client: Client, key: string): Promise<string | null> {
  const [note] = await query(client, z.object({ value: z.string() }), `select value from ${unfinishedTable} where key = $1`, [key])
  return note?.value ?? null
}

/** Writes a note about the progress of the move. */
export async function writeNote(client: Client, key: string, value: string): Promise<void> {
  await client.query(`insert into ${unfinishedTable} (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`, [
    key,
    value,
  ])
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
