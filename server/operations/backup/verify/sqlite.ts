import type { Database } from 'better-sqlite3'
import { lstatSync } from 'node:fs'
import { z } from 'zod'
import { type Findings, type Stamped, verifyAuditOrder } from './findings.ts'
import type { Manifest } from '../manifest.ts'
import { namedBlobs } from '../blob-lists.ts'
import { type SnapshotFiles, sqliteFile } from '../place/place.ts'
import type { SnapshotConfig } from '../create.ts'
import { summarizeTables, withSqlite } from '../sqlite.ts'

/** Verifies the copy of an SQLite database: built-in checks, the rows of every table, referenced blobs and the order of the audit log. */
export async function verifyCopy(files: SnapshotFiles, manifest: Manifest, listed: ReadonlySet<string>, findings: Findings): Promise<void> {
  const path = files.nameOf(sqliteFile)
  // SQLite treats journal files next to a database as part of it, so a backup must not contain any.
  const extra = ['-journal', '-wal', '-shm'].filter((end) => lstatSync(`${files.path(sqliteFile)}${end}`, { throwIfNoEntry: false }))
  for (const end of extra) findings.add(`${path}${end}`, 'does not belong to the backup')
  if (extra.length > 0) return
  await withSqlite(files.path(sqliteFile), { readonly: true }, async (db) => {
    verifyFile(db, path, findings)
    const found = await summarizeTables(db, new AbortController().signal)
    findings.count('tables', found.length)
    for (const { name, rows, sha256 } of manifest.tables) {
      const table = found.find((one) => one.name === name)
      if (table?.sha256 !== sha256) findings.add(path, `The table ${name} differs from the manifest, which lists ${rows} rows`)
    }
    for (const row of db.prepare(namedBlobs).iterate()) {
      const { sha256 } = named.parse(row)
      if (!listed.has(sha256)) findings.add(path, `The blob ${sha256} is referenced, but missing from the blob list`)
    }
    await verifyAuditOrder(entriesOf(db), path, findings)
  })
}

/** Verifies every foreign key, every page and every index of a database. */
export const verifyReferences = ({ SQLITE_PATH }: SnapshotConfig, findings: Findings): Promise<void> =>
  withSqlite(SQLITE_PATH, { readonly: true, timeout: 5000 }, (db) => verifyFile(db, SQLITE_PATH, findings))

const named = z.object({ sha256: z.string() })
const stamped = z.object({ id: z.string(), at: z.number() })

function* entriesOf(db: Database): Generator<Stamped> {
  for (const row of db.prepare('select id, created_at as at from audit_entries order by id').iterate()) yield stamped.parse(row)
}

const violations = z.array(z.object({ table: z.string(), rowid: z.number().nullable(), parent: z.string() }))

/** Runs the built-in checks of SQLite: the integrity of pages and indexes, and foreign keys. */
function verifyFile(db: Database, where: string, findings: Findings): void {
  for (const line of z.array(z.string()).parse(db.prepare('pragma integrity_check').pluck().all()))
    if (line !== 'ok') findings.add(where, line)
  for (const { table, rowid, parent } of violations.parse(db.pragma('foreign_key_check')))
    findings.add(where, `The row ${rowid} of ${table} refers to a missing row of ${parent}`)
}
