import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { nameOfServers } from '../db/postgres/postgres-watch.ts'
import { conflict } from '../errors.ts'

/** Works on a connection of its own, on which a statement may take as long as it takes. What is not committed by then is rolled back. */
export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connect(url)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A connection without time-outs, to be ended by the caller. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'snug backup', keepAlive: true })
  // A connection that is lost ends the statement that runs on it, too: that one tells.
  client.on('error', () => {})
  await client.connect()
  await client.query(
    'set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0' +
      "; set timezone = 'UTC'; set datestyle = 'ISO'; set bytea_output = 'hex'",
  )
  return client
}

/** Any number that no other program is likely to lock on the same PostgreSQL, and another one than that of migrations. */
const advisoryLock = 7_305_514_902

/**
 * Keeps whatever else fills a whole database away from it until the connection ends.
 * @throws ApiError Conflict while a server or something that fills it uses it.
 */
export async function holdAlone(url: string): Promise<Client> {
  const client = await connect(url)
  try {
    await requireNoServer(client)
    const lock = await client.query('select where pg_try_advisory_lock($1)', [advisoryLock])
    if (lock.rowCount !== 1) throw conflict('Another restore or move into the database is running.')
    return client
  } catch (error) {
    await client.end()
    throw error
  }
}

/** PostgreSQL shows the sessions of a server that has just stopped for a moment longer. */
const endingMs = 1000

/** @throws ApiError Conflict while a server uses the database. */
export async function requireNoServer(client: Client): Promise<void> {
  const sessions = 'select from pg_stat_activity where datname = current_database() and application_name ~ $1 limit 1'
  const deadline = performance.now() + endingMs
  while ((await client.query(sessions, [nameOfServers])).rowCount !== 0) {
    if (performance.now() > deadline) throw conflict('A server is using the database. Stop it first.')
    await sleep(50)
  }
}

/** Whether the schema has this table. */
export const hasTable = async (client: Client, name: string): Promise<boolean> =>
  (await client.query('select where to_regclass($1) is not null', [name])).rowCount === 1
