import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { z } from 'zod'
import type { Config } from '../../../platform/config/config.ts'
import { migrateTo } from '../../../platform/db/schema/migrate.ts'
import { unfinished, unfinishedTable } from '../../../platform/db/location/moved.ts'
import { openWithoutTimeouts } from '../../../platform/db/open/open-postgres.ts'
import { openDatabase } from '../../../platform/db/open/orm.ts'
import { conflict } from '../../../errors.ts'
import { damaged, readInto } from '../place/files.ts'
import type { Manifest, SnapshotTable } from '../manifest.ts'
import { type SnapshotFiles, tableFile } from '../place/place.ts'
import { byReference, hasTable, lockDatabase, withClient } from '../postgres.ts'
import { occupied, settingsLeftOut, type Target } from './target.ts'

/**
 * Opens a PostgreSQL database as the target of a restore. The schema of the backup is created first, then all rows in one transaction.
 * @throws ApiError Conflict while a server, a restore or a move uses the database; ConfigError when an unfinished move into it exists.
 */
export async function openPostgresTarget(config: Config, manifest: Manifest): Promise<Target> {
  const url = config.POSTGRES_URL ?? ''
  const holder = await lockDatabase(url)
  if (await hasTable(holder, unfinishedTable)) {
    await holder.end()
    throw unfinished(config)
  }
  return {
    occupiedBy: () =>
      withClient(url, async (client) => {
        const occupant = await occupantOf(client)
        if (occupant === null) await requireSchema(client, manifest)
        return occupant
      }),
    async fill(files, prepared) {
      await prepared()
      await makeSchema(config, manifest)
      await withClient(url, (client) => fill(client, manifest, files))
    },
    upgrade: async () => (await openDatabase(config)).close(),
    close: () => holder.end(),
  }
}

/** Returns the store id of a database that has accounts or packages; null for an unused database. */
async function occupantOf(client: Client): Promise<string | null> {
  const isUsed = async (table: string) =>
    (await hasTable(client, table)) && (await client.query(`select from ${table} limit 1`)).rowCount === 1
  if (!(await isUsed('users')) && !(await isUsed('packages'))) return null
  const { rows } = await client.query("select value from server_settings where key = 'store.id'")
  const [row] = z.array(z.object({ value: z.string() })).parse(rows)
  return row ? z.string().parse(JSON.parse(row.value)) : 'unknown'
}

/**
 * Checks the schema of a target database that has tables already.
 * @throws ApiError Conflict when the database has tables that do not match the schema of the backup.
 */
async function requireSchema(client: Client, { migrations }: Manifest): Promise<void> {
  // Migrations run in one transaction, except for the creation of schema_migrations. Interrupted migrations leave only that table behind.
  const begun = await client.query("select from pg_tables where schemaname = current_schema() and tablename <> 'schema_migrations' limit 1")
  if (begun.rowCount === 0) return
  const { rows } = (await hasTable(client, 'schema_migrations')) ? await client.query('select name from schema_migrations') : { rows: [] }
  const names = new Set(
    z
      .array(z.object({ name: z.string() }))
      .parse(rows)
      .map(({ name }) => name),
  )
  if (names.size !== migrations.length || migrations.some((name) => !names.has(name)))
    throw conflict(
      'The database has tables, and they are not those of the backup. Create a new, empty database and name it in POSTGRES_URL.',
    )
}

async function makeSchema(config: Config, { migrations }: Manifest): Promise<void> {
  const orm = openWithoutTimeouts(config)
  try {
    await migrateTo(orm, config, migrations)
  } finally {
    await orm.close(true)
  }
}

/** Replaces the rows that migrations inserted with those of the backup. */
async function fill(client: Client, { tables }: Manifest, files: SnapshotFiles): Promise<void> {
  await client.query('begin')
  const names = await byReference(client)
  const quoted = (name: string) => client.escapeIdentifier(name)
  // `alter table` takes a lock that also blocks writes of other connections.
  for (const name of names) await client.query(`alter table ${quoted(name)} disable trigger user`)
  if ((await occupantOf(client)) !== null) throw occupied()
  for (const name of names.toReversed()) await client.query(`delete from ${quoted(name)}`)
  // Tables in the backup that do not belong to Snug are not restored.
  for (const name of names) {
    const table = tables.find((one) => one.name === name)
    if (!table) throw damaged(files.nameOf(tableFile(name)))
    await copyIn(client, table, files)
  }
  await continueSequences(client)
  for (const name of names) await client.query(`alter table ${quoted(name)} enable trigger user`)
  await client.query('delete from server_settings where key = any($1)', [settingsLeftOut])
  await client.query('commit')
}

async function copyIn(client: Client, { name, columns, rows, sha256 }: SnapshotTable, files: SnapshotFiles): Promise<void> {
  const list = columns.map((column) => client.escapeIdentifier(column)).join(', ')
  const sum = createHash('sha256')
  const stream = client.query(copyFrom(`copy ${client.escapeIdentifier(name)} (${list}) from stdin`))
  try {
    await pipeline(Readable.from(readInto(sum, files.read(tableFile(name)))), stream)
  } catch (error) {
    // Corrupt data can still look like valid rows, so compare the hash before reporting the database error.
    if ((await files.hash(tableFile(name))) !== sha256) throw damaged(files.nameOf(tableFile(name)))
    throw error
  }
  if (sum.digest('hex') !== sha256 || stream.rowCount !== rows) throw damaged(files.nameOf(tableFile(name)))
}

const numbered = z.array(z.object({ table: z.string(), column: z.string(), sequence: z.string() }))

/** Makes each sequence continue after the highest value in its column. */
export async function continueSequences(client: Client): Promise<void> {
  const { rows } = await client.query(
    `select * from (
       select table_name as "table", column_name as "column", pg_get_serial_sequence(quote_ident(table_name), column_name) as sequence
       from information_schema.columns where table_schema = current_schema()
     ) numbered where sequence is not null`,
  )
  for (const { table, column, sequence } of numbered.parse(rows)) {
    const highest = `(select max(${client.escapeIdentifier(column)}) from ${client.escapeIdentifier(table)})`
    await client.query(`select setval($1::regclass, coalesce(${highest}, 1), ${highest} is not null)`, [sequence])
  }
}
