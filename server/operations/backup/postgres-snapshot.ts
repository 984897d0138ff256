import { join } from 'node:path'
import type { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { z } from 'zod'
import type { Snapshot, SnapshotTable } from './manifest.ts'
import { namedBlobs } from './blob-lists.ts'
import { type Measured, writeHashed } from './place/files.ts'
import { blobList, tableFile } from './place/place.ts'
import { withClient } from './postgres.ts'

/** Copies every table in one read-only transaction, which sees a consistent state of the database. */
export async function snapshotPostgres(url: string, folder: string, signal: AbortSignal): Promise<Snapshot> {
  return withClient(url, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const [storeId, migrations] = [await storeIdOf(client), await migrationsOf(client)]
    const tables: SnapshotTable[] = []
    const files: Snapshot['files'] = []
    for (const { name, columns } of await tablesOf(client)) {
      signal.throwIfAborted()
      const list = columns.map((column) => client.escapeIdentifier(column)).join(', ')
      const { rows, ...file } = await copyOut(client, `${client.escapeIdentifier(name)} (${list})`, join(folder, tableFile(name)))
      tables.push({ name, columns, rows, sha256: file.sha256 })
      files.push({ name: tableFile(name), ...file })
    }
    const { rows: _, ...list } = await copyOut(client, `(${namedBlobs})`, join(folder, blobList))
    await client.query('commit')
    return { storeId, migrations, tables, files: [...files, { name: blobList, ...list }] }
  })
}

async function copyOut(client: Client, what: string, path: string): Promise<Measured & { rows: number }> {
  const stream = client.query(copyTo(`copy ${what} to stdout`))
  const measured = await writeHashed(path, stream)
  return { ...measured, rows: stream.rowCount }
}

const tableRows = z.array(z.object({ name: z.string(), columns: z.array(z.string()) }))

/** Lists the tables of the schema with their stored columns. Generated columns are omitted. */
async function tablesOf(client: Client) {
  const { rows } = await client.query(
    `select t.table_name as name, json_agg(c.column_name order by c.ordinal_position) as columns
     from information_schema.tables t join information_schema.columns c using (table_schema, table_name)
     where t.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
     group by t.table_name order by t.table_name`,
  )
  return tableRows.parse(rows)
}

async function storeIdOf(client: Client): Promise<string> {
  const { rows } = await client.query("select value from server_settings where key = 'store.id'")
  const [row] = z.array(z.object({ value: z.string() })).parse(rows)
  return z.string().parse(JSON.parse(row?.value ?? 'null'))
}

async function migrationsOf(client: Client): Promise<string[]> {
  const { rows } = await client.query('select name from schema_migrations order by name collate "C"')
  return z
    .array(z.object({ name: z.string() }))
    .parse(rows)
    .map(({ name }) => name)
}
