import { readFile } from 'node:fs/promises'
import type { TestApp } from '../app.ts'

/** Everything in the database: its rows as text on PostgreSQL; on SQLite the bytes of its files, where old values linger too. */
export async function everythingStored({ config, services }: TestApp): Promise<Buffer> {
  const { reads, backend } = services.database
  if (backend === 'sqlite') {
    const files = ['', '-wal'].map((suffix) => readFile(`${config.SQLITE_PATH}${suffix}`).catch(() => Buffer.alloc(0)))
    return Buffer.concat(await Promise.all(files))
  }
  const tables = await reads.all<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  )
  const rows = await reads.all<{ row: string }>(
    tables.map(({ name }) => `select entry::text as row from "${name}" entry`).join(' union all '),
  )
  return Buffer.from(rows.map(({ row }) => row).join('\n'))
}
