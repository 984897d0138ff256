import type { Database } from 'better-sqlite3'
import { z } from 'zod'
import type { Findings } from './findings.ts'

const violations = z.array(z.object({ table: z.string(), rowid: z.number().nullable(), parent: z.string() }))

/** Runs the built-in checks of SQLite: the integrity of pages and indexes, and foreign keys. */
export function verifySqliteFile(db: Database, where: string, findings: Findings): void {
  for (const line of z.array(z.string()).parse(db.prepare('pragma integrity_check').pluck().all()))
    if (line !== 'ok') findings.add(where, line)
  for (const { table, rowid, parent } of violations.parse(db.pragma('foreign_key_check')))
    findings.add(where, `The row ${rowid} of ${table} refers to a missing row of ${parent}`)
}
