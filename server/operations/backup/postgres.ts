import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { nameOfServers } from '../../platform/db/postgres/postgres-watch.ts'
import { conflict } from '../../errors.ts'
import { z } from 'zod'

/** Runs `work` on a separate connection without statement timeouts. Uncommitted changes are rolled back. */
export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connect(url)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Opens a connection without timeouts. The caller must end it. */
async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'snug backup', keepAlive: true })
  // Ignored, since a lost connection also fails the running query, which reports the error.
  client.on('error', () => {})
  await client.connect()
  await client.query(
    'set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0' +
      "; set timezone = 'UTC'; set datestyle = 'ISO'; set bytea_output = 'hex'",
  )
  return client
}

/** Key of the advisory lock. Arbitrary, but different from the key for migrations and unlikely to be used by other programs. */
const advisoryLock = 7_305_514_902

/**
 * Takes the lock for filling the whole database. The lock is held until the connection ends.
 * @throws ApiError Conflict while a server, a restore or a move uses the database.
 */
export async function lockDatabase(url: string): Promise<Client> {
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

/** Grace period: PostgreSQL lists the sessions of a server for a moment after it has stopped. */
const endingMs = 1000

/** Checks that no server is connected. @throws ApiError Conflict while a server uses the database. */
export async function requireNoServer(client: Client): Promise<void> {
  const sessions = 'select from pg_stat_activity where datname = current_database() and application_name ~ $1 limit 1'
  const deadline = performance.now() + endingMs
  while ((await client.query(sessions, [nameOfServers])).rowCount !== 0) {
    if (performance.now() > deadline) throw conflict('A server is using the database. Stop it first.')
    await sleep(50)
  }
}

/** Returns whether the schema has a table with this name. */
export const hasTable = async (client: Client, name: string): Promise<boolean> =>
  (await client.query('select where to_regclass($1) is not null', [name])).rowCount === 1

const rowsShape = z.array(z.object({ name: z.string(), needs: z.array(z.string()) }))

/**
 * Sorts the tables of the schema so that each comes after the tables that its foreign keys refer to.
 * @throws Error for circular references.
 */
export async function byReference(client: Client): Promise<string[]> {
  const { rows } = await client.query(
    `select c.relname as name, coalesce(json_agg(r.relname) filter (where r.relname is not null), '[]') as needs
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
       left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid
       left join pg_class r on r.oid = k.confrelid
     where n.nspname = current_schema() and c.relkind = 'r' group by c.relname order by c.relname`,
  )
  const waiting = new Map(rowsShape.parse(rows).map(({ name, needs }) => [name, needs]))
  const ordered: string[] = []
  while (waiting.size > 0) {
    const free = [...waiting].filter(([, needs]) => needs.every((need) => !waiting.has(need))).map(([name]) => name)
    if (free.length === 0) throw new Error(`These tables refer to each other in a circle: ${[...waiting.keys()].join(', ')}`)
    for (const name of free) waiting.delete(name)
    ordered.push(...free)
  }
  return ordered
}
