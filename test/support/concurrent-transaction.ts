import SqliteDatabase from 'better-sqlite3'
import { Client } from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestApp } from '../app.ts'

/** Time in milliseconds for the request to reach the lock before the other transaction commits. */
const headStartMs = 250

/**
 * Sends requests while another transaction holds a lock (`for update`) on the rows that `lock` selects, then executes `changes` and commits. On
 * SQLite, which has a single writer, the whole database is locked.
 */
export async function duringTransaction<Sent>(
  { config }: TestApp,
  { lock, changes = [] }: { lock: string; changes?: string[] },
  send: () => Promise<Sent>,
): Promise<Sent> {
  await using other = config.DB_BACKEND === 'sqlite' ? onSqlite(config.SQLITE_PATH) : await onPostgres(config.POSTGRES_URL)
  await other.run(config.DB_BACKEND === 'sqlite' ? 'begin immediate' : `begin; ${lock} for update`)
  const sent = send()
  await sleep(headStartMs)
  for (const change of [...changes, 'commit']) await other.run(change)
  return sent
}

function onSqlite(path: string) {
  const database = new SqliteDatabase(path)
  database.pragma('foreign_keys = ON')
  return { run: async (sql: string) => void database.exec(sql), [Symbol.asyncDispose]: async () => void database.close() }
}

async function onPostgres(url: string | undefined) {
  const client = new Client(url)
  await client.connect()
  return { run: (sql: string) => client.query(sql), [Symbol.asyncDispose]: () => client.end() }
}
