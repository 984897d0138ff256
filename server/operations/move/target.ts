import type { Client } from 'pg'
import { z } from 'zod'
import { byReference, hasTable, lockDatabase, requireNoServer } from '../backup/postgres.ts'
import { migrate } from '../../platform/db/schema/migrate.ts'
import { explainMissing, nameOfDatabase } from '../../platform/db/location/missing.ts'
import { refuseMoved, unfinishedTable } from '../../platform/db/location/moved.ts'
import { openWithoutTimeouts } from '../../platform/db/open/open-postgres.ts'
import type { DatabaseConfig } from '../../platform/db/options.ts'
import { conflict } from '../../errors.ts'
import { quoted } from './plan.ts'
import type { Source } from './source.ts'

/** A PostgreSQL database that data is being moved to, locked for exclusive use. */
export type Target = {
  client: Client
  /** Reads and writes notes about the progress of the move. They are deleted when the move is complete. */
  read: (key: string) => Promise<string | null>
  write: (key: string, value: string) => Promise<void>
  /** Whether this continues an interrupted move. The copied rows may have changed in the SQLite file since. */
  isContinued: boolean
  /** Deletes all rows of the given tables and of the tables that refer to them. */
  clear: (tables: string[]) => Promise<void>
  /** Completes the move, so that servers can use the database. */
  release: () => Promise<void>
  close: () => Promise<void>
}

/**
 * Opens the database to move to and creates its schema. It must be empty, or contain an interrupted move of the same file.
 * @throws ApiError Conflict for a database with other tables, or one that is in use; ConfigError when it cannot be used.
 */
export async function openTarget(from: DatabaseConfig, to: DatabaseConfig, source: Source): Promise<Target> {
  const client = await lockDatabase(to.POSTGRES_URL ?? '').catch((error: unknown) => {
    throw explainMissing(error, to)
  })
  try {
    const isContinued = await isPartOf(client, to, source)
    if (!isContinued) {
      refuseMoved(from)
      await claim(client, to, source)
    }
    await makeSchema(to)
    return {
      client,
      read: (key) => readNote(client, key),
      write: (key, value) => writeNote(client, key, value),
      isContinued,
      clear: (tables) => clear(client, tables),
      release: async () => void (await client.query(`drop table ${unfinishedTable}`)),
      close: () => client.end(),
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

/** Returns whether the database contains an interrupted move of this file. */
async function isPartOf(client: Client, to: DatabaseConfig, source: Source): Promise<boolean> {
  if (!(await hasTable(client, unfinishedTable))) return false
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
  await requireStillVacant(client)
}

async function requireEmpty(client: Client, config: DatabaseConfig): Promise<void> {
  const tables = await client.query('select from pg_tables where schemaname = current_schema() limit 1')
  if (tables.rowCount === 0) return
  throw conflict(`${capitalized(nameOfDatabase(config))} is not empty. Create a new, empty database (createdb) and name that one.`)
}

/** Checks again that no server uses the database. A server that started right before the mark was written may have missed it. */
async function requireStillVacant(client: Client): Promise<void> {
  try {
    await requireNoServer(client)
  } catch (error) {
    await client.query(`drop table ${unfinishedTable}`)
    throw error
  }
}

/** Clears tables. Triggers are disabled because they forbid deleting audit entries. */
async function clear(client: Client, tables: string[]): Promise<void> {
  const all = (await byReference(client)).filter((name) => name !== unfinishedTable)
  await client.query('begin')
  for (const name of all) await client.query(`alter table ${quoted(name)} disable trigger user`)
  await client.query(`truncate ${tables.map(quoted).join(', ')} cascade`)
  for (const name of all) await client.query(`alter table ${quoted(name)} enable trigger user`)
  for (const name of all) {
    const { rowCount } = await client.query(`select from ${quoted(name)} limit 1`)
    if (rowCount === 0) await client.query(`delete from ${unfinishedTable} where key = $1`, [copiedNote(name)])
  }
  await client.query('commit')
}

async function makeSchema(config: DatabaseConfig): Promise<void> {
  const orm = openWithoutTimeouts(config)
  try {
    await migrate(orm, config)
  } finally {
    await orm.close(true)
  }
}

/** Returns the key of the note with the number of copied rows of a table. */
export const copiedNote = (table: string): string => `copied ${table}`

const notes = z.array(z.object({ value: z.string() }))

async function readNote(client: Client, key: string): Promise<string | null> {
  const { rows } = await client.query(`select value from ${unfinishedTable} where key = $1`, [key])
  return notes.parse(rows)[0]?.value ?? null
}

async function writeNote(client: Client, key: string, value: string): Promise<void> {
  await client.query(`insert into ${unfinishedTable} (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`, [
    key,
    value,
  ])
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
