import { readFile } from 'node:fs/promises'
import type { TestApp } from '../app.ts'

/** Everything in the database as text, table by table; on SQLite also the bytes of its files, where old values linger. */
export async function everythingStored({ config, services }: TestApp): Promise<string> {
  const { reads, backend } = services.database
  const tables = await reads.all<{ name: string }>(
    backend === 'sqlite'
      ? "select name from sqlite_master where type = 'table'"
      : "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  )
  const rows = await Promise.all(tables.map(({ name }) => reads.all(`select * from "${name}"`)))
  const texts = rows.flat(2).map((row) => Object.values(row).map(textOf).join('\n'))
  const files = backend === 'sqlite' ? ['', '-wal'].map((suffix) => readFile(`${config.SQLITE_PATH}${suffix}`, 'latin1')) : []
  return [...texts, ...(await Promise.all(files))].join('\n')
}

const textOf = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('latin1') : typeof value === 'string' ? value : JSON.stringify(value)
