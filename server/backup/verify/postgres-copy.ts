import { verifyAuditOrder, type Stamped } from './audit-order.ts'
import type { Manifest } from '../manifest.ts'
import { linesIn } from '../place/files.ts'
import { tableFile } from '../place/layout.ts'
import type { SnapshotFiles } from '../place/place.ts'
import type { Findings } from './findings.ts'

/** Looks into the copied tables of a PostgreSQL database: how many rows they have, the blobs that they name, the audit log. */
export async function verifyCopy(files: SnapshotFiles, manifest: Manifest, listed: ReadonlySet<string>, findings: Findings): Promise<void> {
  for (const { name, rows } of manifest.tables) {
    findings.count('tables')
    let found = 0
    for await (const _ of linesIn(files.read(tableFile(name)))) found++
    if (found !== rows) findings.add(files.nameOf(tableFile(name)), `has ${found} rows instead of the ${rows} of the manifest`)
  }
  for (const [table, column] of [
    ['package_versions', 'archive_sha256'],
    ['version_docs', 'sha256'],
  ] as const)
    for await (const [sha256 = nothing] of valuesOf(files, manifest, table, [column]))
      if (sha256 !== nothing && !listed.has(sha256))
        findings.add(files.nameOf(tableFile(table)), `The blob ${sha256} is named, but not in the backup's list`)
  const entries: Stamped[] = []
  for await (const [id = '', at = ''] of valuesOf(files, manifest, 'audit_entries', ['id', 'created_at']))
    entries.push({ id, at: momentOf(at) })
  entries.sort((one, other) => (one.id < other.id ? -1 : 1))
  await verifyAuditOrder(entries, files.nameOf(tableFile('audit_entries')), findings)
}

/** What COPY writes for NULL. */
const nothing = '\\N'

/** PostgreSQL leaves the minutes of a time zone out when there are none. */
const momentOf = (text: string) => Date.parse(`${text.replace(' ', 'T')}:00`)

/** Some columns of a table's rows, as COPY writes them: a tab between two, and none within one. */
async function* valuesOf(files: SnapshotFiles, { tables }: Manifest, table: string, wanted: string[]): AsyncGenerator<string[]> {
  const columns = tables.find(({ name }) => name === table)?.columns ?? []
  const places = wanted.map((column) => columns.indexOf(column))
  for await (const line of linesIn(files.read(tableFile(table)))) {
    const values = line.split('\t')
    yield places.map((place) => values[place] ?? nothing)
  }
}
