import { randomUUID } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import type { BlobStore } from '../../blobs/store.ts'
import { conflict } from '../../errors.ts'
import { forEachOf } from '../at-once.ts'
import { damaged } from '../damaged.ts'
import type { Places } from '../layout.ts'
import type { NamedBlob } from '../named-blobs.ts'

type Into = { stores: Record<NamedBlob['store'], BlobStore>; lacking: ReadonlySet<string> }

/**
 * Brings every blob of a list from the folder of backups into its store, verified; `lacking` are those that the backup does not have.
 * @throws ApiError Conflict when one is missing or damaged.
 */
export async function restoreBlobs(places: Places, list: AsyncIterable<NamedBlob>, { stores, lacking }: Into): Promise<void> {
  await forEachOf(list, async ({ sha256, bytes, store }) => {
    if (lacking.has(sha256)) return
    const path = places.blob(sha256)
    const file = statSync(path, { throwIfNoEntry: false })
    if (!file) throw conflict(`The backup is not whole: ${path} is missing. Nothing can be used yet; restore another backup.`)
    // Not even a pipe is waited for, nor more written than there should be.
    if (!file.isFile() || file.size !== bytes) throw damaged(path)
    const [name, blobs] = [`restore-${randomUUID()}`, stores[store]]
    try {
      const found = await blobs.stage(name, createReadStream(path), bytes)
      if (found.sha256 !== sha256) throw damaged(path)
      await blobs.promote(name, sha256)
    } finally {
      await blobs.discard(name)
    }
  })
}
