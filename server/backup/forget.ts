import { ApiError } from '../errors.ts'
import { holdRemovals } from '../store/hold.ts'
import type { BackupSource } from './create.ts'
import { damaged } from './place/damaged.ts'
import { listBackups, type Manifest, readManifest } from './manifest.ts'
import { type NamedBlob, parseBlobList } from './named-blobs.ts'
import { linesIn } from './place/files.ts'
import { blobKey, blobList, fileKey, manifestKey, snapshotKey } from './place/layout.ts'
import { inOrder, lookUpIn } from './place/lookup.ts'
import { openPlace } from './place/open.ts'
import { type BackupPlace, hashIn } from './place/place.ts'

/** What was deleted. */
export type Forgotten = { backups: string[]; blobs: number; bytes: number }

/**
 * Deletes all but the newest `keep` backups in a place, with the blobs that only they needed. The backup `made`, which has just been made, is
 * read again first: nothing is deleted unless it is whole. The newest one that lacks no archive stays, however old it is. What is killed
 * goes on the next time.
 * @throws ApiError Conflict while another backup runs, or when a backup that stays is damaged, so that nobody knows which blobs it needs.
 */
export async function forgetBackups(
  { em, config, now }: Pick<BackupSource, 'em' | 'config' | 'now'>,
  address: string,
  { made, keep }: { made: string; keep: number },
): Promise<Forgotten> {
  const place = await openPlace(config, address)
  const hold = await holdRemovals(em, now)
  try {
    await requireIntact(place, await readManifest(place, made))
    const { staying, backups } = await choose(place, keep)
    // A backup without its manifest does not count: whatever happens now, none is left in half.
    for (const id of backups) await place.remove(manifestKey(id))
    for (const id of backups) await place.remove(snapshotKey(id))
    await place.settle()
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

/** Which backups stay, and which go. One that cannot be read counts for nothing, and goes once enough newer ones are there. */
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

/** Removes every blob that none of the backups names. Their lists are in order, and are read along with the stored blobs. */
async function removeBlobs(place: BackupPlace, staying: string[], signal: AbortSignal): Promise<Omit<Forgotten, 'backups'>> {
  const lists: ReturnType<typeof lookUpIn<NamedBlob>>[] = []
  for (const id of staying) {
    const { files } = await readManifest(place, id)
    await requireIntact(place, { id, files: files.filter(({ name }) => name === blobList) })
    lists.push(lookUpIn(inOrder(readList(place, id), place.nameOf(fileKey(id, blobList)))))
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
