import { join } from 'node:path'
import { type Client, escapeIdentifier } from 'pg'
import { z } from 'zod'
import type { Snapshot, SnapshotTable } from './manifest.ts'
import { namedBlobs } from './blob-lists.ts'
import { type Measured, writeHashed } from './place/files.ts'
import { blobList, tableFile } from './place/place.ts'
import { copyOut, copiedMigrations, query, quotedList, storeIdOf, withClient } from './postgres.ts'

/** Copies every table in one read-only transaction, which sees a consistent state of the database. */
export async function snapshotPostgres(url: string, folder: string, signal: AbortSignal): Promise<Snapshot> {
  return withClient(url, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const [storeId, migrations] = [z.string().parse(await storeIdOf(client)), await copiedMigrations(client)]
    const tables: SnapshotTable[] = []
    const files: Snapshot['files'] = []
    for (const { name, columns } of await tablesOf(client)) {
      signal.throwIfAborted()
      const what = `${escapeIdentifier(name)} (${quotedList(columns)})`
      const { rows, ...file } = await copyToFile(client, what, join(folder, tableFile(name)))
      tables.push({ name, columns, rows, sha256: file.sha256 })
      files.push({ name: tableFile(name), ...file })
    }
    const { rows: _, ...list } = await copyToFile(client, `(${namedBlobs})`, join(folder, blobList))
    await client.query('commit')
    return { storeId, migrations, tables, files: [...files, { name: blobList, ...list }] }
  })
}

async function copyToFile(client: Client, what: string, path: string): Promise<Measured & { rows: number }> {
  const stream = copyOut(client, what)
  const measured = await writeHashed(path, stream)
  return { ...measured, rows: stream.rowCount }
}

/** Lists the tables of the schema with their stored columns. Generated columns are omitted. */
const tablesOf = (client: Client) =>
  query(
    client,
    z.object({ name: z.string(), columns: z.array(z.string()) }),
    `select t.table_name as name, json_agg(c.column_name order by c.ordinal_position) as columns
     from information_schema.tables t join information_schema.columns c using (table_schema, table_name)
     where t.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
     group by t.table_name order by t.table_name`,
  )
