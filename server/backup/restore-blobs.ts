import { randomUUID } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import type { BlobStore } from '../blobs/store.ts'
import { conflict } from '../errors.ts'
import { forEachOf } from './at-once.ts'
import type { Places } from './layout.ts'
import type { NamedBlob } from './named-blobs.ts'

type Into = { stores: Record<NamedBlob['store'], BlobStore>; lacking: ReadonlySet<string> }

/**
 * Brings every blob of a list from the folder of backups into its store, verified; `lacking` are those that the backup does not have.
 * @throws ApiError Conflict when one is missing or damaged.
 */
export async function restoreBlobs(places: Places, list: AsyncIterable<NamedBlob>, { stores, lacking }: Into): Promise<void> {
  await forEachOf(list, async ({ sha256, bytes, store }) => {
    if (lacking.has(sha256)) return
    const path = places.blob(sha256)
    if (!existsSync(path)) throw conflict(`The backup is not whole: ${path} is missing. Nothing can be used yet; restore another backup.`)
    const [name, blobs] = [`restore-${randomUUID()}`, stores[store]]
    try {
      const found = await blobs.stage(name, createReadStream(path), Math.max(bytes, 1) * 2)
      if (found.sha256 !== sha256)
        throw conflict(`The backup is damaged: ${path} has other bytes. Nothing can be used yet; restore another backup.`)
      await blobs.promote(name, sha256)
    } finally {
      await blobs.discard(name)
    }
  })
}
