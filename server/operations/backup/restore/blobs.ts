import { randomUUID } from 'node:crypto'
import type { BlobStore } from '../../../platform/blobs/store.ts'
import { conflict } from '../../../errors.ts'
import { forEachConcurrently } from '../concurrency.ts'
import { damaged } from '../place/damaged.ts'
import type { NamedBlob } from '../named-blobs.ts'
import { blobKey } from '../place/layout.ts'
import type { BackupPlace } from '../place/place.ts'

type Into = { stores: Record<NamedBlob['store'], BlobStore>; lacking: ReadonlySet<string> }

/**
 * Copies every listed blob from the backup location into its store and verifies it. Blobs in `lacking` are skipped, since the backup lacks them.
 * @throws ApiError Conflict when a blob is missing or corrupt.
 */
export async function restoreBlobs(place: BackupPlace, list: AsyncIterable<NamedBlob>, { stores, lacking }: Into): Promise<void> {
  await forEachConcurrently(list, async ({ sha256, bytes, store }) => {
    if (lacking.has(sha256)) return
    const path = place.nameOf(blobKey(sha256))
    const found = await place.find(blobKey(sha256))
    if (!found) throw conflict(`The backup is incomplete: ${path} is missing. Nothing was restored. Restore another backup.`)
    // Comparing sizes first avoids reading pipes and writing more than the expected size.
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
