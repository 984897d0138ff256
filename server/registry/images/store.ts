import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { freeBytesAt } from '../../platform/store/health.ts'
import { openBlobs } from '../../platform/store/open.ts'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { toDate } from '../../platform/db/reads.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { isRefusedForMove } from '../../platform/db/unavailable.ts'
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
const batchSize = 500

/**
 * Opens the image store: the folder `images` in the archive store, on disk or in the bucket. It is a store of its own, so that archives can be listed,
 * verified, backed up and moved without it.
 */
function imageStore({ config, state }: Store): Promise<BlobStore> {
  const { BLOB_PATH, S3_PREFIX } = config
  state.images ??= openBlobs({ ...config, BLOB_PATH: join(BLOB_PATH, 'images'), BLOB_GROUP_READ: false, S3_PREFIX: `${S3_PREFIX}images/` })
  // A failure is not remembered.
  state.images.catch(() => delete state.images)
  return state.images
}

/** Returns a cached image by its key, or undefined, and records its use. */
export async function findImage(store: Store, key: string): Promise<Cached | undefined> {
  type Row = { sha256: string | null; media_type: string | null; fetched_at: Moment; used_at: Moment }
  const sql = 'select sha256, media_type, fetched_at, used_at from cached_images where key = ?'
  const row = await store.database.reads.get<Row>(sql, key)
  if (!row) return undefined
  if (toDate(row.used_at).getTime() < store.now().getTime() - halfDayMs) await recordUse(store, key)
  return { sha256: row.sha256, mediaType: row.media_type, fetchedAt: toDate(row.fetched_at) }
}
type Moment = number | string | Date

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
    if (image && !(await hasSpace(store))) return
    const sha256 = image && (await storeContent(store, image.content))
    const [bytes, mediaType] = [image?.content.length ?? 0, image?.mediaType ?? null]
    await database.fork().upsert(CachedImage, { key, sha256, mediaType, bytes, fetchedAt: now(), usedAt: now() })
  } catch (error) {
    if (!isRefusedForMove(error)) log.warning(`an image could not be cached: ${String(error)}`)
  }
}

/** Whether the disk of a folder has enough free space. The cache must not take the space of archives. */
const hasSpace = async ({ config }: Store): Promise<boolean> =>
  config.BLOB_BACKEND !== 'filesystem' || (await freeBytesAt(config.BLOB_PATH)) >= config.MIN_FREE_BYTES

/** Keeps a cached image for as long as if it had been fetched now. */
export const postponeFetch = (store: Store, key: string): Promise<void> =>
  change(store, 'update cached_images set fetched_at = ? where key = ?', [store.now(), key])

const recordUse = (store: Store, key: string): Promise<void> =>
  change(store, 'update cached_images set used_at = ? where key = ?', [store.now(), key])

async function change({ database, log }: Store, sql: string, values: (string | Date)[]): Promise<void> {
  try {
    await changeRows(database.fork(), sql, values)
  } catch (error) {
    if (!isRefusedForMove(error)) log.warning(`a cached image could not be updated: ${String(error)}`)
  }
}

async function storeContent(store: Store, content: Buffer): Promise<string> {
  const blobs = await imageStore(store)
  const staged = `image-${randomUUID()}`
  const { sha256 } = await blobs.stageWhole(staged, content)
  await blobs.promote(staged, sha256)
  return sha256
}

/**
 * Deletes the images that were not used for the longest time if the cache is too large, entries without an image after a day, and content that no
 * entry refers to. Several instances may collect concurrently. Returns the number of deleted files.
 */
export async function collectImages(store: Store, limit = maxBytes): Promise<number> {
  const em = store.database.fork()
  await changeRows(em, 'delete from cached_images where sha256 is null and fetched_at < ?', [new Date(store.now().getTime() - dayMs)])
  await trimEntries(em, limit)
  // Without entries, the store need not be opened.
  if (!store.state.images && !(await readRow(em, 'select 1 as one from cached_images limit 1', []))) return 0
  return removeOrphans(store, await imageStore(store), em)
}

async function trimEntries(em: EntityManager, limit: number): Promise<void> {
  const total = await readRow<{ bytes: number | string | null }>(em, 'select sum(bytes) as bytes from cached_images', [])
  let excess = Number(total?.bytes ?? 0) - limit
  while (excess > 0) {
    const oldest = await readRows<{ key: string; bytes: number }>(
      em,
      `select key, bytes from cached_images where bytes > 0 order by used_at, key limit ${batchSize}`,
      [],
    )
    const keys: string[] = []
    for (const { key, bytes } of oldest) {
      if (excess <= 0) break
      keys.push(key)
      excess -= bytes
    }
    if (keys.length === 0) return
    await changeRows(em, `delete from cached_images where key in (${keys.map(() => '?').join(', ')})`, keys)
  }
}

/** Content is stored before its entry, so only older content counts as orphaned. */
const orphanedAfterMs = 10 * 60_000

async function removeOrphans({ now }: Store, blobs: BlobStore, em: EntityManager): Promise<number> {
  const [at, before] = [now(), new Date(now().getTime() - orphanedAfterMs)]
  let removed = 0
  let batch: string[] = []
  const removeBatch = async () => {
    for (const sha256 of await unreferenced(em, batch)) if ((await blobs.remove(sha256, { at, before })) !== null) removed++
    batch = []
  }
  for await (const { sha256, storedAt } of blobs.list()) {
    if (storedAt < before) batch.push(sha256)
    if (batch.length >= batchSize) await removeBatch()
  }
  await removeBatch()
  await blobs.collectStaged(before)
  await blobs.purge(new Date(at.getTime() + 1))
  return removed
}

async function unreferenced(em: EntityManager, hashes: string[]): Promise<string[]> {
  if (hashes.length === 0) return []
  const marks = hashes.map(() => '?').join(', ')
  const rows = await readRows<{ sha256: string }>(em, `select distinct sha256 from cached_images where sha256 in (${marks})`, hashes)
  const named = new Set(rows.map(({ sha256 }) => sha256))
  return hashes.filter((sha256) => !named.has(sha256))
}
