import { randomUUID } from 'node:crypto'
import type { BlobStore } from '../../blobs/store.ts'
import { conflict } from '../../errors.ts'
import { forEachOf } from '../at-once.ts'
import { damaged } from '../place/damaged.ts'
import type { NamedBlob } from '../named-blobs.ts'
import { blobKey } from '../place/layout.ts'
import type { BackupPlace } from '../place/place.ts'

type Into = { stores: Record<NamedBlob['store'], BlobStore>; lacking: ReadonlySet<string> }

/**
 * Brings every blob of a list from the place of backups into its store, verified; `lacking` are those that the backup does not have.
 * @throws ApiError Conflict when one is missing or damaged.
 */
export async function restoreBlobs(place: BackupPlace, list: AsyncIterable<NamedBlob>, { stores, lacking }: Into): Promise<void> {
  await forEachOf(list, async ({ sha256, bytes, store }) => {
    if (lacking.has(sha256)) return
    const path = place.nameOf(blobKey(sha256))
    const found = await place.find(blobKey(sha256))
    if (!found) throw conflict(`The backup is not whole: ${path} is missing. Nothing can be used yet; restore another backup.`)
    // Not even a pipe is waited for, nor more written than there should be.
    if (found.bytes !== bytes) throw damaged(path)
    const [name, blobs] = [`restore-${randomUUID()}`, stores[store]]
    try {
      const staged = await blobs.stage(name, await found.read(), bytes)
      if (staged.sha256 !== sha256) throw damaged(path)
      await blobs.promote(name, sha256)
    } finally {
      await blobs.discard(name)
    }
  })
}
