import type { Client } from 'pg'
import { z } from 'zod'
import { hasTable, holdAlone, requireNoServer } from '../backup/postgres-client.ts'
import { byReference } from '../backup/restore/postgres-order.ts'
import { migrate } from '../db/schema/migrate.ts'
import { explainMissing, nameOfDatabase } from '../db/location/missing.ts'
import { refuseMoved, unfinishedTable } from '../db/location/moved.ts'
import { openPatiently } from '../db/open/open-postgres.ts'
import type { DatabaseConfig } from '../db/options.ts'
import { conflict } from '../errors.ts'
import { quoted } from './plan.ts'
import type { Source } from './source.ts'

/** A PostgreSQL database while everything is moved to it. Nobody else uses it. */
export type Target = {
  client: Client
  /** What was written down about how far the move is; it lasts as long as the move. */
  read: (key: string) => Promise<string | null>
  write: (key: string, value: string) => Promise<void>
  /** Whether an interrupted move goes on: then what it brought is there, which may have changed in the file since. */
  isContinued: boolean
  /** Takes everything out of these tables, and of those that refer to them. */
  clear: (tables: string[]) => Promise<void>
  /** Makes it a database like every other. */
  release: () => Promise<void>
  close: () => Promise<void>
}

/**
 * Opens a database to move to: an empty one, or one that a move of the same file was interrupted in. Its schema is made.
 * @throws ApiError Conflict for a database with other tables, or while somebody uses it; ConfigError when it cannot be used.
 */
export async function openTarget(from: DatabaseConfig, to: DatabaseConfig, source: Source): Promise<Target> {
  const client = await holdAlone(to.POSTGRES_URL ?? '').catch((error: unknown) => {
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

/** Whether the database has a part of the file already. */
async function isPartOf(client: Client, to: DatabaseConfig, source: Source): Promise<boolean> {
  if (!(await hasTable(client, unfinishedTable))) return false
  if ((await readNote(client, 'store')) === source.storeId) return true
  throw conflict(`Another SQLite database is being moved to ${nameOfDatabase(to)}. Name an empty database, or run the move of that one.`)
}

/** From here on no server starts with the database until everything is in it. */
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

/** A server that began to use the database before the claim may not have seen it; those that begin later do. */
async function requireStillVacant(client: Client): Promise<void> {
  try {
    await requireNoServer(client)
  } catch (error) {
    await client.query(`drop table ${unfinishedTable}`)
    throw error
  }
}

/** Audit entries can only be removed with their triggers off. */
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
  const orm = openPatiently(config)
  try {
    await migrate(orm, config)
  } finally {
    await orm.close(true)
  }
}

/** Under what it is written down how many rows of a table were copied. */
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
