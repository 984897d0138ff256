import type { EntityManager } from '@mikro-orm/sql'
import { addAbortSignal } from 'node:stream'
import { type BlobStore, DamagedBytes } from '../../platform/blobs/store.ts'
import { forEachConcurrently } from './concurrency.ts'
import type { FaultyBlob } from './manifest.ts'
import type { NamedBlob } from './named-blobs.ts'
import { blobKey } from './place/layout.ts'
import type { BackupPlace } from './place/place.ts'

/** The database and the stores that blobs are copied from. */
export type BlobSource = { em: EntityManager; stores: Record<NamedBlob['store'], BlobStore>; now: () => Date }
/** Result of a copy: the number and total size of the listed blobs, how many were newly copied, and which are missing or corrupt on the server. */
export type CopiedBlobs = { count: number; bytes: number; copied: number; lacking: FaultyBlob[] }

/**
 * Copies every listed blob that the backup location does not have yet. The list must be sorted by hash. A blob whose version is
 * deleted while the backup runs is restored from the removed blobs, copied, and removed again. Missing and corrupt blobs are reported and do not
 * stop the copy.
 */
export async function copyBlobs(
  source: BlobSource,
  place: BackupPlace,
  list: AsyncIterable<NamedBlob>,
  { signal, report }: { signal: AbortSignal; report?: ((done: number) => void) | undefined },
): Promise<CopiedBlobs> {
  const done: CopiedBlobs = { count: 0, bytes: 0, copied: 0, lacking: [] }
  const isThere = place.inventory()
  await forEachConcurrently(list, async (blob) => {
    signal.throwIfAborted()
    done.count++
    report?.(done.count)
    done.bytes += blob.bytes
    if (await isThere(blob)) return
    const problem = await copyOne(source, place, blob, signal)
    if (problem) return void done.lacking.push({ sha256: blob.sha256, problem })
    done.copied++
  })
  return done
}

async function copyOne(
  source: BlobSource,
  place: BackupPlace,
  blob: NamedBlob,
  signal: AbortSignal,
): Promise<FaultyBlob['problem'] | null> {
  const blobs = source.stores[blob.store]
  const copy = async () => {
    const bytes = addAbortSignal(signal, await blobs.open(blob.sha256))
    await place.put(blobKey(blob.sha256), bytes, blob)
  }
  try {
    await copy().catch(async (error: unknown) => {
      if (!isMissing(error) || !(await blobs.restore(blob.sha256))) throw error
      try {
        await copy()
      } finally {
        await removeAgain(source, blobs, blob.sha256)
      }
    })
    return null
  } catch (error) {
    if (error instanceof DamagedBytes) return 'damaged'
    if (isMissing(error)) return 'missing'
    throw error
  }
}

/** Removes a blob that was restored only for the backup, unless a version refers to it again. */
async function removeAgain({ em, now }: BlobSource, blobs: BlobStore, sha256: string): Promise<void> {
  const named = await em.execute<unknown[]>(
    'select 1 from package_versions where archive_sha256 = ? union all select 1 from version_docs where sha256 = ?',
    [sha256, sha256],
  )
  if (named.length === 0) await blobs.remove(sha256, { at: now() })
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'
