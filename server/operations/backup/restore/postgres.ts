import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Client, escapeIdentifier } from 'pg'
import type { Config } from '../../../platform/config/config.ts'
import { unfinished, unfinishedTable } from '../../../platform/db/location/moved.ts'
import { openDatabase } from '../../../platform/db/open/orm.ts'
import { conflict } from '../../../errors.ts'
import { damaged, readInto } from '../place/files.ts'
import type { Manifest, SnapshotTable } from '../manifest.ts'
import { type SnapshotFiles, tableFile } from '../place/place.ts'
import {
  byReference,
  continueSequences,
  copyIn,
  hasCopiedTable,
  lockDatabase,
  makeSchema,
  copiedMigrations,
  setTriggers,
  storeIdOf,
  withClient,
} from '../postgres.ts'
import { occupied, settingsLeftOut, type Target } from './target.ts'

/**
 * Opens a PostgreSQL database as the target of a restore. The schema of the backup is created first, then all rows in one transaction.
 * @throws ApiError Conflict while a server, a restore or a move uses the database; ConfigError when an unfinished move into it exists.
 */
export async function openPostgresTarget(config: Config, manifest: Manifest): Promise<Target> {
  const url = config.POSTGRES_URL ?? ''
  const holder = await lockDatabase(url)
  if (await hasCopiedTable(holder, unfinishedTable)) {
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
      await makeSchema(config, manifest.migrations)
      await withClient(url, (client) => fill(client, manifest, files))
    },
    upgrade: async () => (await openDatabase(config)).close(),
    close: () => holder.end(),
  }
}

/** Returns the store id of a database that has accounts or packages; null for an unused database. */
async function occupantOf(client: Client): Promise<string | null> {
  const isUsed = async (table: string) =>
    (await hasCopiedTable(client, table)) && (await client.query(`select from ${table} limit 1`)).rowCount === 1
  if (!(await isUsed('users')) && !(await isUsed('packages'))) return null
  return (await storeIdOf(client)) ?? 'unknown'
}

/**
 * Checks the schema of a target database that has tables already.
 * @throws ApiError Conflict when the database has tables that do not match the schema of the backup.
 */
async function requireSchema(client: Client, { migrations }: Manifest): Promise<void> {
  // Migrations run in one transaction, except for the creation of schema_migrations. Interrupted migrations leave only that table behind.
  const begun = await client.query("select from pg_tables where schemaname = current_schema() and tablename <> 'schema_migrations' limit 1")
  if (begun.rowCount === 0) return
  const found = (await hasCopiedTable(client, 'schema_migrations')) ? await copiedMigrations(client) : []
  if (!isDeepStrictEqual(found, migrations.toSorted()))
    throw conflict(
      'The database has tables, and they are not those of the backup. Create a new, empty database and name it in POSTGRES_URL.',
    )
}

/** Replaces the rows that migrations inserted with those of the backup. */
async function fill(client: Client, { tables }: Manifest, files: SnapshotFiles): Promise<void> {
  await client.query('begin')
  const names = await byReference(client)
  await setTriggers(client, names, 'disable')
  if ((await occupantOf(client)) !== null) throw occupied()
  for (const name of names.toReversed()) await client.query(`delete from ${escapeIdentifier(name)}`)
  // Tables in the backup that do not belong to Snug are not restored.
  for (const name of names) {
    const table = tables.find((one) => one.name === name)
    if (!table) throw damaged(files.nameOf(tableFile(name)))
    await copyVerified(client, table, files)
  }
  await continueSequences(client)
  await setTriggers(client, names, 'enable')
  await client.query('delete from server_settings where key = any($1)', [settingsLeftOut])
  await client.query('commit')
}

async function copyVerified(client: Client, table: SnapshotTable, files: SnapshotFiles): Promise<void> {
  const [file, sum] = [tableFile(table.name), createHash('sha256')]
  const rows = await copyIn(client, table, readInto(sum, files.read(file))).catch(async (error: unknown) => {
    // Corrupt data can still look like valid rows, so compare the hash before reporting the database error.
    throw (await files.hash(file)) === table.sha256 ? error : damaged(files.nameOf(file))
  })
  if (sum.digest('hex') !== table.sha256 || rows !== table.rows) throw damaged(files.nameOf(file))
}
