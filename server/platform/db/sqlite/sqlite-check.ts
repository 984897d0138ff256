import SqliteDatabase from 'better-sqlite3'
import { z } from 'zod'

const message = z.object({ integrity_check: z.string() })
const reference = z.object({ table: z.string(), rowid: z.number().nullable(), parent: z.string() })
/** Maximum number of problems that are reported. */
const maxProblems = 10

/**
 * Checks every page and every foreign key of an SQLite file. Works while a server is running. Returns descriptions of the problems.
 * @throws Error if the file cannot be read.
 */
export function checkSqlite(path: string): string[] {
  const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 5000 })
  try {
    const pages = z.array(message).parse(db.pragma(`integrity_check(${maxProblems})`))
    const references = z.array(reference).parse(db.pragma('foreign_key_check'))
    return [
      ...pages.flatMap(({ integrity_check: said }) => (said === 'ok' ? [] : [said.replaceAll('\n', ' ')])),
      ...references
        .slice(0, maxProblems)
        .map(({ table, rowid, parent }) => `row ${rowid} of ${table} refers to a missing row of ${parent}`),
    ]
  } finally {
    db.close()
  }
}
