import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, escapeIdentifier } from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import { openWithoutTimeouts } from '../../platform/db/open/open-postgres.ts'
import type { DatabaseConfig } from '../../platform/db/options.ts'
import { nameOfServers } from '../../platform/db/postgres/postgres-watch.ts'
import { migrate, migrateTo } from '../../platform/db/schema/migrate.ts'

// PostgreSQL operations that backups, restores and the move from SQLite share.

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
export const hasCopiedTable = async (client: Client, name: string): Promise<boolean> =>
  (await client.query('select where to_regclass($1) is not null', [name])).rowCount === 1

const orderShape = z.object({ name: z.string(), needs: z.array(z.string()) })

/**
 * Sorts the tables of the schema so that each comes after the tables that its foreign keys refer to.
 * @throws Error for circular references.
 */
export async function byReference(client: Client): Promise<string[]> {
  const tables = await query(
    client,
    orderShape,
    `select c.relname as name, coalesce(json_agg(r.relname) filter (where r.relname is not null), '[]') as needs
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
       left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid
       left join pg_class r on r.oid = k.confrelid
     where n.nspname = current_schema() and c.relkind = 'r' group by c.relname order by c.relname`,
  )
  const waiting = new Map(tables.map(({ name, needs }) => [name, needs]))
  const ordered: string[] = []
  while (waiting.size > 0) {
    const free = [...waiting].filter(([, needs]) => needs.every((need) => !waiting.has(need))).map(([name]) => name)
    if (free.length === 0) throw new Error(`These tables refer to each other in a circle: ${[...waiting.keys()].join(', ')}`)
    for (const name of free) waiting.delete(name)
    ordered.push(...free)
  }
  return ordered
}

/** Runs a query and validates its rows. */
export const query = async <Row>(client: Client, row: z.ZodType<Row>, sql: string, values: unknown[] = []): Promise<Row[]> =>
  z.array(row).parse((await client.query(sql, values)).rows)

/** Returns a comma-separated list of quoted identifiers, in the syntax of both databases. */
export const quotedList = (names: readonly string[]): string => names.map(escapeIdentifier).join(', ')

/** Returns the id that links the database to its archive store; null if it has none. */
export async function storeIdOf(client: Client): Promise<string | null> {
  const [row] = await query(client, z.object({ value: z.string() }), "select value from server_settings where key = 'store.id'")
  return row ? z.string().nullable().parse(JSON.parse(row.value)) : null
}

/** Returns the names of the applied migrations in ascending order. */
export const copiedMigrations = async (client: Client): Promise<string[]> =>
  (await query(client, z.object({ name: z.string() }), 'select name from schema_migrations order by name collate "C"')).map(
    ({ name }) => name,
  )

/** Creates the current schema, or the schema after the given migrations. */
export async function makeSchema(config: DatabaseConfig, migrations?: string[]): Promise<void> {
  const orm = openWithoutTimeouts(config)
  try {
    await (migrations ? migrateTo(orm, config, migrations) : migrate(orm, config))
  } finally {
    await orm.close(true)
  }
}

/** Streams the rows of a table or a parenthesized query in COPY text format. */
export const copyOut = (client: Client, rows: string) => client.query(copyTo(`copy ${rows} to stdout`))

/** Copies rows in COPY text format into a table. Returns their number. */
export async function copyIn(
  client: Client,
  { name, columns }: { name: string; columns: readonly string[] },
  rows: Iterable<string> | AsyncIterable<Buffer>,
): Promise<number> {
  const stream = client.query(copyFrom(`copy ${escapeIdentifier(name)} (${quotedList(columns)}) from stdin`))
  await pipeline(Readable.from(rows), stream)
  return stream.rowCount
}

/**
 * Disables or enables the triggers of tables, which forbid changes such as deletions of audit entries. Takes locks that also block writes of other
 * connections.
 */
export async function setTriggers(client: Client, tables: readonly string[], action: 'enable' | 'disable'): Promise<void> {
  for (const name of tables) await client.query(`alter table ${escapeIdentifier(name)} ${action} trigger user`)
}

const numbered = z.object({ table: z.string(), column: z.string(), sequence: z.string() })

/** Makes each sequence continue after the highest value in its column. */
export async function continueSequences(client: Client): Promise<void> {
  const sequences = await query(
    client,
    numbered,
    `select * from (
       select table_name as "table", column_name as "column", pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
       from information_schema.columns where table_schema = current_schema()
     ) numbered where sequence is not null`,
  )
  for (const { table, column, sequence } of sequences) {
    const highest = `(select max(${escapeIdentifier(column)}) from ${escapeIdentifier(table)})`
    await client.query(`select setval($1::regclass, coalesce(${highest}, 1), ${highest} is not null)`, [sequence])
  }
}
