import type { EntityManager } from '@mikro-orm/sql'
import { db } from '../../../platform/db/query.ts'
import type { Reads } from '../../../platform/db/reads.ts'
import { changeRows } from '../../../platform/db/statements.ts'
import { isOutOfFiles } from '../../../platform/db/unavailable.ts'
import type { Services } from '../../../services.ts'
import { ArchiveFault } from '../entity.ts'
import { DamagedBytes } from '../../../platform/blobs/store.ts'
import { type ApiError, causeOf, notFound, serviceUnavailable, storageAway, tooManyOpenFiles } from '../../../errors.ts'

export type KnownFault = { kind: 'missing' | 'damaged'; package: string; version: string; sha256: string; bytes: number; foundAt: Date }

const maxShown = 100

/** Records that an archive is missing or damaged, for administrators. Does nothing if the fault is already recorded. */
export async function recordFault(em: EntityManager, sha256: string, kind: ArchiveFault['kind'], foundAt: Date): Promise<void> {
  const fault = db.insertInto('archive_faults').values({ sha256, kind, found_at: foundAt })
  await changeRows(
    em,
    fault.onConflict((known) => known.column('sha256').doUpdateSet({ kind }).where('archive_faults.kind', '<>', kind)),
  )
}

export async function clearFault(em: EntityManager, sha256: string): Promise<void> {
  await em.nativeDelete(ArchiveFault, { sha256 })
}

/** Returns the recorded faults of versions, newest first, at most 100. */
export async function knownFaults(reads: Pick<Reads, 'all'>): Promise<KnownFault[]> {
  return reads.all(
    db
      .selectFrom('archive_faults as f')
      .crossJoin('package_versions as v')
      .innerJoin('packages as p', 'p.id', 'v.package_id')
      .select(['f.kind', 'p.name as package', 'v.version', 'f.sha256', 'v.archive_bytes as bytes', 'f.found_at as foundAt'])
      .whereRef('v.archive_sha256', '=', 'f.sha256')
      .orderBy('f.found_at', 'desc')
      .orderBy('f.sha256')
      .limit(maxShown),
  )
}

/** Checks archives with recorded faults again. Deletes the faults of archives that are intact or no longer referenced by a version. */
export async function recheckFaults({ database, blobs }: Pick<Services, 'database' | 'blobs'>): Promise<void> {
  const em = database.fork()
  for (const { sha256 } of await em.find(ArchiveFault, {}, { orderBy: { foundAt: 'asc' }, limit: maxShown })) {
    const isNamed = await isReferenced({ database }, { sha256 })
    const found = isNamed && (await blobs.hash(sha256).catch(() => null))
    if (!isNamed || found === sha256) await clearFault(em, sha256)
  }
}

declare module '../../../services.ts' {
  interface State {
    /** Hashes of the archives for which this process recorded a fault. */
    faults?: Set<string>
  }
}

type Context = Pick<Services, 'blobs' | 'database' | 'log' | 'now' | 'state'>
type Archive = { name: string; version: string; sha256: string }

/** Returns the error for an archive that cannot be read: NotFound or ServiceUnavailable. Records missing and damaged archives. */
export async function diagnoseReadFailure(context: Context, archive: Archive, error: unknown): Promise<ApiError> {
  const { log } = context
  if (!(await isReferenced(context, archive))) return notFound('There is no such archive on this server any more.')
  const what = `the archive of ${archive.name} ${archive.version} (SHA-256 ${archive.sha256})`
  const kind = await faultOf(context, error)
  if (!kind) {
    log.error(`${what} cannot be read: ${String(causeOf(error))}`)
    return isOutOfFiles(error) ? Object.assign(tooManyOpenFiles(), { cause: error }) : storageAway()
  }
  log.error(`${what} is ${kind}: restore it from a backup, or delete the version`)
  await saveFault(context, archive.sha256, kind)
  return serviceUnavailable(
    `The archive of ${archive.name} ${archive.version} is ${kind} on this server. Ask an administrator to restore it, then try again.`,
    300,
  )
}

/** Whether a version uses this archive. The version can be deleted between reading its row and opening the archive. */
export async function isReferenced({ database }: Pick<Context, 'database'>, { sha256 }: Pick<Archive, 'sha256'>): Promise<boolean> {
  const version = await database.reads.get(db.selectFrom('package_versions').select('id').where('archive_sha256', '=', sha256))
  return version !== undefined
}

/** Clears the recorded fault of an archive that has been read successfully, if this process recorded one. */
export async function clearRecordedFault({ database, state }: Context, sha256: string): Promise<void> {
  if (state.faults?.delete(sha256)) await clearFault(database.fork(), sha256)
}

/** Returns the kind of fault; null if the whole storage is unavailable rather than this archive. */
async function faultOf({ blobs }: Context, error: unknown): Promise<'missing' | 'damaged' | null> {
  if (error instanceof DamagedBytes) return 'damaged'
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return null
  return (await blobs.identity().catch(() => null)) === null ? null : 'missing'
}

/** Records a fault. A failure to record is only logged, because the client gets the same answer either way. */
async function saveFault({ database, log, now, state }: Context, sha256: string, kind: 'missing' | 'damaged'): Promise<void> {
  ;(state.faults ??= new Set<string>()).add(sha256)
  try {
    const known = await database.reads.get(db.selectFrom('archive_faults').select('kind').where('sha256', '=', sha256))
    if (known?.kind !== kind) await recordFault(database.fork(), sha256, kind, now())
  } catch (error) {
    log.error(`recording that an archive is ${kind} failed: ${String(error)}`)
  }
}
