import type { EntityManager } from '@mikro-orm/sql'
import { hash } from 'node:crypto'
import { readRow, readRows, rowsById } from '../../../platform/db/statements.ts'
import type { Stores } from '../../../platform/store/open.ts'
import { findFault, forEachConcurrently } from '../../../platform/store/transfer.ts'
import type { SnapshotConfig } from '../create.ts'
import type { Report } from '../place/place.ts'
import { type Findings, openFindings, type Stamped, type Verified, verifyAuditOrder } from './findings.ts'

export type Place = { em: EntityManager; config: SnapshotConfig; stores: Stores }

/**
 * Verifies all data of the server: the hashes of archives, documentation and avatars, the references between rows, and the order of the audit
 * log. Changes nothing. Safe while the server is running: concurrently deleted data is skipped.
 */
export async function verifyPlace(place: Place, report?: Report): Promise<Verified> {
  const findings = openFindings()
  for (const store of ['archives', 'docs'] as const) {
    const row = await readRow<{ total: number }>(place.em, named[store].count, [])
    const [step, total] = [store === 'docs' ? 'Checking documentation' : 'Checking archives', row?.total ?? 0]
    let done = 0
    await forEachConcurrently(rowsById<Named>(place.em, named[store].sql), async (one) => {
      // Versions can be published in the meantime.
      report?.(step, { done: ++done, total: Math.max(done, total), unit: 'files' })
      await verifyNamed(place, store, one, findings)
    })
  }
  for await (const { id, png, sha256 } of rowsById<Picture>(place.em, pictures, { batch: 20 })) {
    findings.count('pictures')
    if (hash('sha256', png) !== sha256) findings.add(`the picture of the account ${id}`, 'does not match its checksum')
  }
  for (const { png, sha256 } of await readRows<Picture>(place.em, logo, [])) {
    findings.count('pictures')
    if (hash('sha256', png) !== sha256) findings.add('the logo of the registry', 'does not match its checksum')
  }
  const isSqlite = place.config.DB_BACKEND === 'sqlite'
  const { verifyReferences } = isSqlite ? await import('./sqlite.ts') : await import('./postgres.ts')
  await verifyReferences(place.config, findings)
  await verifyAuditOrder(entriesOf(place.em, isSqlite), 'the audit log', findings)
  return findings.result
}

type Named = { id: string; name: string; version: string; sha256: string }
type Picture = { id: string; png: Uint8Array; sha256: string }

/** The blobs that package versions refer to: how to list them, and whether a version still refers to one. */
const named = {
  archives: {
    what: 'the archive',
    sql: `select v.id, p.name, v.version, v.archive_sha256 as sha256 from package_versions v join packages p on p.id = v.package_id where v.id > ?`,
    count: 'select count(*) as total from package_versions',
    isNamed: 'select 1 from package_versions where id = ? and archive_sha256 = ?',
  },
  docs: {
    what: 'the documentation',
    sql: `select d.version_id as id, p.name, v.version, d.sha256 from version_docs d join package_versions v on v.id = d.version_id
          join packages p on p.id = v.package_id where d.sha256 is not null and d.version_id > ?`,
    count: 'select count(*) as total from version_docs where sha256 is not null',
    isNamed: 'select 1 from version_docs where version_id = ? and sha256 = ?',
  },
}
const pictures = 'select user_id as id, png, sha256 from avatars where user_id > ?'
const logo = 'select key as id, png, sha256 from registry_logos'

async function verifyNamed({ em, stores }: Place, store: keyof Stores, { id, sha256, ...row }: Named, findings: Findings): Promise<void> {
  findings.count(store === 'docs' ? 'documentation' : 'archives')
  const fault = await findFault(stores[store], sha256)
  const { what, isNamed } = named[store]
  if (fault === null || !(await readRow(em, isNamed, [id, sha256]))) return
  findings.add(`${row.name} ${row.version}`, `${what} ${sha256} ${fault === 'missing' ? 'is missing' : 'does not match its checksum'}`)
}

function entriesOf(em: EntityManager, isSqlite: boolean): AsyncGenerator<Stamped> {
  const at = isSqlite ? 'created_at' : 'extract(epoch from created_at) * 1000'
  return rowsById(em, `select id, ${at} as at from audit_entries where id > ?`, { batch: 1000 })
}
