import { ApiError } from '../../errors.ts'
import { holdRemovals } from '../../platform/store/hold.ts'
import type { BackupSource } from './create.ts'
import { damaged, linesIn } from './place/files.ts'
import { listBackups, type Manifest, readManifest } from './manifest.ts'
import { createLookup, type NamedBlob, parseBlobList, requireSorted } from './blob-lists.ts'
import { type BackupPlace, blobKey, blobList, fileKey, hashIn, manifestKey, snapshotKey } from './place/place.ts'
import { openPlace } from './place/open.ts'

/** The backups that were deleted, and the number and total size of the deleted blobs. */
export type DeletedBackups = { backups: string[]; blobs: number; bytes: number }

/**
 * Deletes all but the newest `keep` backups, together with the blobs that only the deleted ones needed. The newest backup without missing blobs
 * is always kept. Before anything is deleted, the just-created backup `made` is verified. An interrupted deletion is completed by the next one.
 * @throws ApiError Conflict while another backup runs, or when a remaining backup is corrupt, since the blobs that it needs are then unknown.
 */
export async function deleteOldBackups(
  { em, config, now }: Pick<BackupSource, 'em' | 'config' | 'now'>,
  address: string,
  { made, keep }: { made: string; keep: number },
): Promise<DeletedBackups> {
  const place = await openPlace(config, address)
  const hold = await holdRemovals(em, now)
  try {
    await requireIntact(place, await readManifest(place, made))
    const { staying, backups } = await choose(place, keep)
    // A backup without a manifest is ignored. Deleting all manifests first means that an interruption leaves no half-deleted backup.
    for (const id of backups) await place.remove(manifestKey(id))
    for (const id of backups) await place.remove(snapshotKey(id))
    await place.flush()
    await hold.confirm()
    return { backups, ...(await removeBlobs(place, staying, hold.signal)) }
  } finally {
    await hold.release()
  }
}

async function requireIntact(place: BackupPlace, { id, files }: Pick<Manifest, 'id' | 'files'>): Promise<void> {
  for (const { name, bytes, sha256 } of files)
    if ((await hashIn(place, fileKey(id, name), bytes)) !== sha256) throw damaged(place.nameOf(fileKey(id, name)))
}

/** Selects which backups to keep and which to delete. An unreadable backup does not count toward `keep`, and is deleted once it is old enough. */
async function choose(place: BackupPlace, keep: number): Promise<{ staying: string[]; backups: string[] }> {
  const ids = await listBackups(place)
  const readable: Manifest[] = []
  for (const id of ids.toReversed()) {
    const manifest = await readManifest(place, id).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      return null
    })
    if (manifest) readable.push(manifest)
  }
  const oldest = readable.slice(0, keep).at(-1)?.id ?? ''
  const complete = readable.find(({ blobs }) => blobs.lacking.length === 0)?.id
  const stays = (id: string) => id >= oldest || id === complete
  return { staying: ids.filter(stays), backups: ids.filter((id) => !stays(id)) }
}

/**
 * Deletes every blob that no remaining backup refers to. The lists of the backups and the stored blobs are sorted, so they are merged in one pass.
 */
async function removeBlobs(place: BackupPlace, staying: string[], signal: AbortSignal): Promise<Omit<DeletedBackups, 'backups'>> {
  const lists: ReturnType<typeof createLookup<NamedBlob>>[] = []
  for (const id of staying) {
    const { files } = await readManifest(place, id)
    await requireIntact(place, { id, files: files.filter(({ name }) => name === blobList) })
    lists.push(createLookup(requireSorted(readList(place, id), place.nameOf(fileKey(id, blobList)))))
  }
  const removed = { blobs: 0, bytes: 0 }
  for await (const { sha256, bytes } of place.blobs()) {
    signal.throwIfAborted()
    const found = await Promise.all(lists.map((find) => find(sha256)))
    if (found.some((named) => named !== null)) continue
    await place.remove(blobKey(sha256))
    removed.bytes += bytes
    removed.blobs++
  }
  return removed
}

async function* readList(place: BackupPlace, id: string): AsyncGenerator<NamedBlob> {
  const name = place.nameOf(fileKey(id, blobList))
  const found = await place.find(fileKey(id, blobList))
  if (!found) throw damaged(name)
  yield* parseBlobList(linesIn((await found.read()) as AsyncIterable<Buffer>), name)
}
