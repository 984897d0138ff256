import { hasSpace, openSideStore, removeUnreferenced, storeContent, trimRows } from '../../platform/store/side-store.ts'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { db, prepared, type Query } from '../../platform/db/query.ts'
import { changeRows, readRow } from '../../platform/db/statements.ts'
import { isRejectedForMove } from '../../platform/db/unavailable.ts'
import type { BlobStore } from '../../platform/blobs/store.ts'
import type { Services } from '../../services.ts'
import { CachedImage } from './entity.ts'

declare module '../../services.ts' {
  interface State {
    /** Store of remote images and thumbnails. */
    images?: Promise<BlobStore>
  }
}

type Store = Pick<Services, 'caches' | 'config' | 'database' | 'log' | 'now' | 'state'>

/** An image to cache. */
export type Image = { content: Buffer; mediaType: string }
/** The state of a cached image. `sha256` is null if there is no image. */
export type Cached = { sha256: string | null; mediaType: string | null; fetchedAt: Date }

/** Total size in bytes of the cached images. Beyond it, images that were not used for the longest time are deleted. */
const maxBytes = 512 * 1024 ** 2
const halfDayMs = 12 * 3_600_000
const dayMs = 24 * 3_600_000

function imageStore({ config, state }: Store): Promise<BlobStore> {
  state.images ??= openSideStore(config, 'images')
  // A failure is not remembered.
  state.images.catch(() => delete state.images)
  return state.images
}

/** Returns a cached image by its key, or undefined, and records its use. */
export async function findImage(store: Store, key: string): Promise<Cached | undefined> {
  const row = await store.database.reads.get(imageOf, key)
  if (!row) return undefined
  const { usedAt, ...image } = row
  if (usedAt.getTime() < store.now().getTime() - halfDayMs) await recordUse(store, key)
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
  const content = await (await imageStore(store)).read(sha256).catch(() => null)
  if (content) pictures.set(sha256, inOwnMemory(content))
  return content
}

/** Caches an image, or null if the image cannot be made. Failures are only logged, because the image can be made again. */
export async function cacheImage(store: Store, key: string, image: Image | null): Promise<void> {
  const { database, log, now } = store
  try {
    if (image && !(await hasSpace(store.config))) return
    const sha256 = image && (await storeContent(await imageStore(store), image.content))
    const [bytes, mediaType] = [image?.content.length ?? 0, image?.mediaType ?? null]
    await database.fork().upsert(CachedImage, { key, sha256, mediaType, bytes, fetchedAt: now(), usedAt: now() })
  } catch (error) {
    if (!isRejectedForMove(error)) log.warning(`an image could not be cached: ${String(error)}`)
  }
}

/** Keeps a cached image for as long as if it had been fetched now. */
export const postponeFetch = (store: Store, key: string): Promise<void> =>
  change(store, db.updateTable('cached_images').set({ fetched_at: store.now() }).where('key', '=', key))

const recordUse = (store: Store, key: string): Promise<void> =>
  change(store, db.updateTable('cached_images').set({ used_at: store.now() }).where('key', '=', key))

async function change({ database, log }: Store, update: Query<unknown>): Promise<void> {
  try {
    await changeRows(database.fork(), update)
  } catch (error) {
    if (!isRejectedForMove(error)) log.warning(`a cached image could not be updated: ${String(error)}`)
  }
}

/**
 * Deletes the images that were not used for the longest time if the cache is too large, entries without an image after a day, and content that no
 * entry refers to. Several instances may collect concurrently. Returns the number of deleted files.
 */
export async function collectImages(store: Store, limit = maxBytes): Promise<number> {
  const em = store.database.fork()
  const before = new Date(store.now().getTime() - dayMs)
  await changeRows(em, db.deleteFrom('cached_images').where('sha256', 'is', null).where('fetched_at', '<', before))
  await trimRows(em, 'cached_images', limit)
  // Without entries, the store need not be opened.
  if (!store.state.images && !(await readRow(em, db.selectFrom('cached_images').select('key').limit(1)))) return 0
  return removeUnreferenced(await imageStore(store), em, 'cached_images', store.now())
}
