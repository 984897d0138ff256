import type { EntityManager } from '@mikro-orm/sql'
import { hash } from 'node:crypto'
import type { BlobStore } from '../../../platform/blobs/store.ts'
import { forEachConcurrently, type NamedBlob } from '../blob-lists.ts'
import { type Findings, openFindings, type Stamped, type Verified, verifyAuditOrder } from './findings.ts'
import type { SnapshotConfig } from '../create.ts'
import { verifyReferences } from './references.ts'

export type Place = { em: EntityManager; config: SnapshotConfig; stores: Record<NamedBlob['store'], BlobStore> }

/**
 * Verifies all data of the server: the hashes of archives, documentation and avatars, the references between rows, and the order of the audit
 * log. Changes nothing. Safe while the server is running: concurrently deleted data is skipped.
 */
export async function verifyPlace(place: Place): Promise<Verified> {
  const findings = openFindings()
  await forEachConcurrently(rowsOf<Named>(place.em, archives), (row) => verifyNamed(place, 'archives', row, findings))
  await forEachConcurrently(rowsOf<Named>(place.em, documentation), (row) => verifyNamed(place, 'docs', row, findings))
  for await (const { id, png, sha256 } of rowsOf<Picture>(place.em, pictures)) {
    findings.count('pictures')
    if (hash('sha256', png) !== sha256) findings.add(`the picture of the account ${id}`, 'does not match its checksum')
  }
  await verifyReferences(place.config, findings)
  await verifyAuditOrder(entriesOf(place), 'the audit log', findings)
  return findings.result
}

type Named = { id: string; name: string; version: string; sha256: string }
type Picture = { id: string; png: Uint8Array; sha256: string }
/** A query that selects rows after a given id, and the number of rows per batch. */
type Listing = { sql: string; batch: number }

const archives: Listing = {
  sql: `select v.id, p.name, v.version, v.archive_sha256 as sha256 from package_versions v join packages p on p.id = v.package_id
        where v.id > ? order by v.id`,
  batch: 500,
}
const documentation: Listing = {
  sql: `select d.version_id as id, p.name, v.version, d.sha256 from version_docs d join package_versions v on v.id = d.version_id
        join packages p on p.id = v.package_id where d.version_id > ? and d.sha256 is not null order by d.version_id`,
  batch: 500,
}
const pictures: Listing = { sql: 'select user_id as id, png, sha256 from avatars where user_id > ? order by user_id', batch: 20 }

const firstId = '00000000-0000-0000-0000-000000000000'

async function* rowsOf<Row extends { id: string }>(em: EntityManager, { sql, batch }: Listing): AsyncGenerator<Row> {
  for (let after = firstId; ;) {
    const rows = await em.execute<Row[]>(`${sql} limit ${batch}`, [after])
    yield* rows
    if (rows.length < batch) return
    after = rows.at(-1)?.id ?? after
  }
}

async function verifyNamed({ em, stores }: Place, store: NamedBlob['store'], row: Named, findings: Findings): Promise<void> {
  findings.count(store === 'docs' ? 'documentation' : 'archives')
  const found = await stores[store].hash(row.sha256).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  })
  if (found === row.sha256) return
  const [column, key] = store === 'docs' ? ['version_docs', 'version_id'] : ['package_versions', 'id']
  const hashColumn = store === 'docs' ? 'sha256' : 'archive_sha256'
  const isStillNamed = await em.execute<unknown[]>(`select 1 from ${column} where ${key} = ? and ${hashColumn} = ?`, [row.id, row.sha256])
  if (isStillNamed.length === 0) return
  const what = store === 'docs' ? 'the documentation' : 'the archive'
  findings.add(`${row.name} ${row.version}`, `${what} ${row.sha256} ${found === null ? 'is missing' : 'does not match its checksum'}`)
}

async function* entriesOf({ em, config }: Place): AsyncGenerator<Stamped> {
  const at = config.DB_BACKEND === 'sqlite' ? 'created_at' : 'extract(epoch from created_at) * 1000'
  const listing = { sql: `select id, ${at} as at from audit_entries where id > ? order by id`, batch: 1000 }
  for await (const { id, at: moment } of rowsOf<{ id: string; at: number | string }>(em, listing)) yield { id, at: Number(moment) }
}
