import { escapeIdentifier } from 'pg'
import { z } from 'zod'
import type { SnapshotConfig } from '../create.ts'
import type { Manifest } from '../manifest.ts'
import { linesIn } from '../place/files.ts'
import { type SnapshotFiles, tableFile } from '../place/place.ts'
import { query, withClient } from '../postgres.ts'
import { type Findings, type Stamped, verifyAuditOrder } from './findings.ts'

/** Verifies the copied tables of a PostgreSQL database: row counts, referenced blobs and the order of the audit log. */
export async function verifyCopy(files: SnapshotFiles, manifest: Manifest, listed: ReadonlySet<string>, findings: Findings): Promise<void> {
  for (const { name, rows } of manifest.tables) {
    findings.count('tables')
    let found = 0
    for await (const _ of linesIn(files.read(tableFile(name)))) found++
    if (found !== rows) findings.add(files.nameOf(tableFile(name)), `has ${found} rows, but the manifest lists ${rows}`)
  }
  for (const [table, column] of [
    ['package_versions', 'archive_sha256'],
    ['version_docs', 'sha256'],
  ] as const)
    for await (const [sha256 = nothing] of valuesOf(files, manifest, table, [column]))
      if (sha256 !== nothing && !listed.has(sha256))
        findings.add(files.nameOf(tableFile(table)), `The blob ${sha256} is referenced, but missing from the blob list`)
  const entries: Stamped[] = []
  for await (const [id = '', at = ''] of valuesOf(files, manifest, 'audit_entries', ['id', 'created_at']))
    entries.push({ id, at: momentOf(at) })
  entries.sort((one, other) => (one.id < other.id ? -1 : 1))
  await verifyAuditOrder(entries, files.nameOf(tableFile('audit_entries')), findings)
}

/** Representation of NULL in PostgreSQL's COPY text format. */
const nothing = '\\N'

/** Parses a timestamp of PostgreSQL, which omits the minutes of a time zone offset when they are zero. */
const momentOf = (text: string) => Date.parse(`${text.replace(' ', 'T')}:00`)

/** Reads some columns of a table's rows in COPY format, in which tabs separate columns and never occur inside a value. */
async function* valuesOf(files: SnapshotFiles, { tables }: Manifest, table: string, wanted: string[]): AsyncGenerator<string[]> {
  const columns = tables.find(({ name }) => name === table)?.columns ?? []
  const places = wanted.map((column) => columns.indexOf(column))
  for await (const line of linesIn(files.read(tableFile(table)))) {
    const values = line.split('\t')
    yield places.map((place) => values[place] ?? nothing)
  }
}

const constraint = z.object({
  name: z.string(),
  table: z.string(),
  columns: z.array(z.string()),
  parent: z.string(),
  keys: z.array(z.string()),
})
const total = z.object({ rows: z.coerce.number() })

/** Verifies every foreign key of a database. A constraint may have been disabled, or the files may be corrupt. */
export const verifyReferences = ({ POSTGRES_URL = '' }: SnapshotConfig, findings: Findings): Promise<void> =>
  withClient(POSTGRES_URL, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const names = (columns: string) =>
      `(select json_agg(a.attname order by u.at) from unnest(${columns}) with ordinality u(number, at) join pg_attribute a on a.attnum = u.number and a.attrelid =`
    const constraints = await query(
      client,
      constraint,
      `select k.conname as name, c.relname as "table", r.relname as parent, ${names('k.conkey')} k.conrelid) as columns, ${names('k.confkey')} k.confrelid) as keys
       from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class r on r.oid = k.confrelid
       where k.contype = 'f' and k.connamespace = current_schema()::regnamespace order by k.conname`,
    )
    for (const { name, table, columns, parent, keys } of constraints) {
      findings.count('references')
      const match = columns.map((column, index) => `p.${escapeIdentifier(keys[index] ?? '')} = c.${escapeIdentifier(column)}`).join(' and ')
      const set = columns.map((column) => `c.${escapeIdentifier(column)} is not null`).join(' and ')
      const lost = `select count(*) as rows from ${escapeIdentifier(table)} c
        where ${set} and not exists (select from ${escapeIdentifier(parent)} p where ${match})`
      for (const { rows } of await query(client, total, lost))
        if (rows > 0) findings.add(`the table ${table}`, `${rows} rows refer to missing rows of ${parent} (${name})`)
    }
    await client.query('commit')
  })
