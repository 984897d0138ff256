import type { EntityManager } from '@mikro-orm/sql'
import { type Reads, toDate } from '../../../platform/db/reads.ts'
import type { Services } from '../../../services.ts'
import { ArchiveFault } from './entity.ts'

/** A version whose archive is known to be missing or damaged. */
export type KnownFault = { kind: 'missing' | 'damaged'; package: string; version: string; sha256: string; bytes: number; foundAt: Date }

const maxShown = 100

/** Records that an archive is missing or damaged, for administrators. Does nothing if the fault is already recorded. */
export async function recordFault(em: EntityManager, sha256: string, kind: ArchiveFault['kind'], foundAt: Date): Promise<void> {
  await em.execute(
    `insert into archive_faults (sha256, kind, found_at) values (?, ?, ?)
     on conflict (sha256) do update set kind = excluded.kind where archive_faults.kind <> excluded.kind`,
    [sha256, kind, foundAt],
  )
}

/** Deletes the recorded fault of an archive that is intact again, if any. */
export async function clearFault(em: EntityManager, sha256: string): Promise<void> {
  await em.nativeDelete(ArchiveFault, { sha256 })
}

/** Returns the recorded faults of versions, newest first, at most 100. */
export async function knownFaults(reads: Pick<Reads, 'all'>): Promise<KnownFault[]> {
  type Row = Omit<KnownFault, 'bytes' | 'foundAt'> & { bytes: number | string; foundAt: number | string | Date }
  const rows = await reads.all<Row>(
    `select f.kind, p.name as package, v.version, f.sha256, v.archive_bytes as bytes, f.found_at as "foundAt"
     from archive_faults f join package_versions v on v.archive_sha256 = f.sha256 join packages p on p.id = v.package_id
     order by f.found_at desc, f.sha256 limit ${maxShown}`,
  )
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes), foundAt: toDate(row.foundAt) }))
}

/** Checks archives with recorded faults again. Deletes the faults of archives that are intact or no longer referenced by a version. */
export async function recheckFaults({ database, blobs }: Pick<Services, 'database' | 'blobs'>): Promise<void> {
  const em = database.fork()
  for (const { sha256 } of await em.find(ArchiveFault, {}, { orderBy: { foundAt: 'asc' }, limit: maxShown })) {
    const isNamed = await database.reads.get('select 1 as one from package_versions where archive_sha256 = ?', sha256)
    const found = isNamed && (await blobs.hash(sha256).catch(() => null))
    if (!isNamed || found === sha256) await clearFault(em, sha256)
  }
}
