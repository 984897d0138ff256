import { sideTable } from '../../platform/store/side-store.ts'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { isRefusedForMove } from '../../platform/db/unavailable.ts'
import type { Services } from '../../services.ts'
import { CachedImage } from './entity.ts'

type Store = Pick<Services, 'caches' | 'config' | 'database' | 'log' | 'now' | 'state'>

/** An image to cache. */
export type Image = { content: Buffer; mediaType: string }
/** The state of a cached image. `sha256` is null if there is no image. */
export type Cached = { sha256: string | null; mediaType: string | null; fetchedAt: Date }

/** Total size in bytes of the cached images. Beyond it, images that were not used for the longest time are deleted. */
const maxBytes = 512 * 1024 ** 2
const dayMs = 24 * 3_600_000

const imageFiles = sideTable('cached_images', { folder: 'images', what: 'a cached image' })

/** Returns a cached image by its key, or undefined, and records its use. */
export async function findImage(store: Store, key: string): Promise<Cached | undefined> {
  const row = await store.database.reads.get(imageOf, key)
  if (!row) return undefined
  const { usedAt, ...image } = row
  await imageFiles.recordUse(store, key, usedAt)
  return image
}
const imageOf = prepared((key: string) =>
  db
    .selectFrom('cached_images')
    .select(['sha256', 'media_type as mediaType', 'fetched_at as fetchedAt', 'used_at as usedAt'])
    .where('key', '=', key),
)

/** Returns the content of a cached image, or null if it is not in the store, for example after a restore. */
export async function readImage(store: Store, sha256: string): Promise<Buffer | null> {
  const { pictures } = store.caches
  const known = pictures.get(sha256)
  if (known) return known
  const content = await (await imageFiles.store(store)).read(sha256).catch(() => null)
  if (content) pictures.set(sha256, inOwnMemory(content))
  return content
}

/** Caches an image, or null if the image cannot be made. Failures are only logged, because the image can be made again. */
export async function cacheImage(store: Store, key: string, image: Image | null): Promise<void> {
  const { database, log, now } = store
  try {
    const sha256 = image && (await imageFiles.keep(store, image.content))
    if (image && sha256 === null) return
    const [bytes, mediaType] = [image?.content.length ?? 0, image?.mediaType ?? null]
    await database.fork().upsert(CachedImage, { key, sha256, mediaType, bytes, fetchedAt: now(), usedAt: now() })
  } catch (error) {
    if (!isRefusedForMove(error)) log.warning(`an image could not be cached: ${String(error)}`)
  }
}

/** Keeps a cached image for as long as if it had been fetched now. */
export const postponeFetch = (store: Store, key: string): Promise<void> =>
  imageFiles.change(store, db.updateTable('cached_images').set({ fetched_at: store.now() }).where('key', '=', key))

/**
 * Deletes the images that were not used for the longest time if the cache is too large, and entries without an image after a day. Returns the number of
 * deleted files.
 */
export function collectImages(store: Store, limit = maxBytes): Promise<number> {
  const before = new Date(store.now().getTime() - dayMs)
  return imageFiles.collect(store, limit, db.deleteFrom('cached_images').where('sha256', 'is', null).where('fetched_at', '<', before))
}
