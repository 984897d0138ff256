import { readFile } from 'node:fs/promises'
import type { TestApp } from '../app.ts'

/** Everything in the database: its rows as text on PostgreSQL; on SQLite the bytes of its files, where old values linger too. */
export async function everythingStored({ config, services }: TestApp): Promise<Buffer> {
  const { reads, backend } = services.database
  if (backend === 'sqlite') {
    const files = ['', '-wal'].map((suffix) => readFile(`${config.SQLITE_PATH}${suffix}`).catch(() => Buffer.alloc(0)))
    return Buffer.concat(await Promise.all(files))
  }
  // Most tables of a test have no page yet, and reading each of them takes longer than all that has rows.
  const tables = await reads.all<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0",
  )
  const rows = await reads.all<{ row: string }>(
    tables.map(({ name }) => `select entry::text as row from "${name}" entry`).join(' union all '),
  )
  return Buffer.from(rows.map(({ row }) => row).join('\n'))
}
