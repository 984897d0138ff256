import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { TestApp } from '../app.ts'

/**
 * Returns the contents of the database. On PostgreSQL, these are the rows as text. On SQLite, these are the pages of its files that were written
 * since the template was copied, including deleted values.
 */
export async function dumpDatabase({ config, services }: TestApp): Promise<Buffer> {
  const { reads, backend } = services.database
  if (backend === 'sqlite') {
    const before = await (copied ??= contentOf(process.env.TEST_SQLITE ?? ''))
    return Buffer.concat(['', '-wal'].flatMap((suffix) => writtenPages(`${config.SQLITE_PATH}${suffix}`, before)))
  }
  // Skips tables without pages, because reading each of them takes longer than reading all tables that have rows.
  const tables = await reads.all<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0",
  )
  const rows = await reads.all<{ row: string }>(
    tables.map(({ name }) => `select entry::text as row from "${name}" entry`).join(' union all '),
  )
  return Buffer.from(rows.map(({ row }) => row).join('\n'))
}

/** Content of the template that the database files of most tests are copied from. */
let copied: Promise<Buffer> | undefined
const contentOf = (path: string): Promise<Buffer> => readFile(path).catch(() => Buffer.alloc(0))

const pageSize = 4096
/** Shared buffer. A buffer per test would trigger a full garbage collection every few tests. */
const page = Buffer.alloc(pageSize)

function writtenPages(path: string, before: Buffer): Buffer[] {
  const pages: Buffer[] = []
  if (!existsSync(path)) return pages
  const file = openSync(path, 'r')
  try {
    for (let at = 0, length = 0; (length = readSync(file, page, 0, pageSize, at)) > 0; at += length) {
      const read = page.subarray(0, length)
      if (!read.equals(before.subarray(at, at + length))) pages.push(Buffer.from(read))
    }
  } finally {
    closeSync(file)
  }
  return pages
}
