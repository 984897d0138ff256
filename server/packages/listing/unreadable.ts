import { DamagedBytes } from '../../blobs/store.ts'
import { type ApiError, causeOf, notFound, serviceUnavailable, storageAway } from '../../errors.ts'
import { clearFault, recordFault } from '../faults/faults.ts'
import type { Services } from '../../services.ts'

type Circumstances = Pick<Services, 'blobs' | 'database' | 'log' | 'now'>
type Asked = { name: string; version: string; sha256: string }

/**
 * Judges why an archive cannot be read: its version may just have been deleted, the archive may be missing or damaged, or the storage be away.
 * A fault of the archive is logged, and kept for administrators to see.
 * @returns the error to answer with: NotFound or ServiceUnavailable.
 */
export async function judgeUnreadable(circumstances: Circumstances, asked: Asked, error: unknown): Promise<ApiError> {
  const { log } = circumstances
  if (!(await isNamed(circumstances, asked))) return notFound('There is no such archive on this server any more.')
  const what = `the archive of ${asked.name} ${asked.version} (SHA-256 ${asked.sha256})`
  const kind = await faultOf(circumstances, error)
  if (!kind) {
    log.error(`${what} cannot be read: ${String(causeOf(error))}`)
    return storageAway()
  }
  log.error(`${what} is ${kind}: restore it from a backup, or delete the version`)
  await keep(circumstances, asked.sha256, kind)
  return serviceUnavailable(
    `The archive of ${asked.name} ${asked.version} is ${kind} on this server. Ask an administrator to restore it, then try again.`,
    300,
  )
}

/** Whether a version has this archive: it may be deleted between the look at its row and the look at its bytes. */
export async function isNamed({ database }: Pick<Circumstances, 'database'>, { sha256 }: Pick<Asked, 'sha256'>): Promise<boolean> {
  return (await database.reads.get('select 1 as one from package_versions where archive_sha256 = ?', sha256)) !== undefined
}

/** Forgets the fault of an archive that was read whole, if this process knows of one. */
export async function noteWhole({ blobs, database }: Circumstances, sha256: string): Promise<void> {
  if (faultsOf(blobs).delete(sha256)) await clearFault(database.fork(), sha256)
}

/** Null when the archive is not to blame: the whole storage is away. */
async function faultOf({ blobs }: Circumstances, error: unknown): Promise<'missing' | 'damaged' | null> {
  if (error instanceof DamagedBytes) return 'damaged'
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return null
  return (await blobs.identity().catch(() => null)) === null ? null : 'missing'
}

/** The answer is the same when it cannot be kept. */
async function keep({ blobs, database, log, now }: Circumstances, sha256: string, kind: 'missing' | 'damaged'): Promise<void> {
  faultsOf(blobs).add(sha256)
  try {
    const known = await database.reads.get<{ kind: string }>('select kind from archive_faults where sha256 = ?', sha256)
    if (known?.kind !== kind) await recordFault(database.fork(), sha256, kind, now())
  } catch (error) {
    log.error(`keeping that an archive is ${kind}: ${String(error)}`)
  }
}

const found = new WeakMap<Services['blobs'], Set<string>>()

/** The archives that this process found at fault. */
function faultsOf(blobs: Services['blobs']): Set<string> {
  let faults = found.get(blobs)
  if (!faults) found.set(blobs, (faults = new Set()))
  return faults
}
