import SqliteDatabase from 'better-sqlite3'
import { z } from 'zod'

const message = z.object({ integrity_check: z.string() })
const reference = z.object({ table: z.string(), rowid: z.number().nullable(), parent: z.string() })
/** So many are told. */
const atMost = 10

/**
 * Reads every page of an SQLite file and follows every reference, beside a server that may be running; gives what is wrong, in words.
 * @throws Error when the file cannot be read.
 */
export function checkSqlite(path: string): string[] {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 })
  try {
    const pages = z.array(message).parse(db.pragma(`integrity_check(${atMost})`))
    const references = z.array(reference).parse(db.pragma('foreign_key_check'))
    return [
      ...pages.flatMap(({ integrity_check: said }) => (said === 'ok' ? [] : [said.replaceAll('\n', ' ')])),
      ...references.slice(0, atMost).map(({ table, rowid, parent }) => `row ${rowid} of ${table} names a row that ${parent} does not have`),
    ]
  } finally {
    db.close()
  }
}
