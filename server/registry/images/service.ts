import { sideTable } from '../../platform/store/side-store.ts'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { isRejectedForMove } from '../../platform/db/unavailable.ts'
import type { Services } from '../../services.ts'
import { CachedImage } from './entity.ts'
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { serviceUnavailable } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { addressKey, fairQueueKey } from '../../platform/http/limits.ts'
import { createFairLimiter, type FairLimiter } from '../../platform/threads/fair-limiter.ts'
import { headBytes, imageTypeOf, maxImageBytes } from '../files/content.ts'
import { isShowable } from '../files/dimensions.ts'
import { safeSvg } from '../files/svg/service.ts'
import { type Guard, publicOnly } from '../../platform/outbound/addresses.ts'
import { NotFetched, orTemporary, readContent, requestUrl } from '../../platform/outbound/request.ts'

declare module '../../services.ts' {
  interface State {
    /** Remote images that are being fetched, by cache key. */
    fetches?: Map<string, Promise<Image | null>>
    fetchTurns?: FairLimiter
    /** Replaces the rules about addresses and times for remote images. `timeoutMs` limits a whole download, including redirects. */
    imageRules?: { isAllowed: Guard; timeoutMs: number }
  }
}

/** Increment when an image of the same content is stored differently. */
const revision = 2
/** Time in milliseconds after which an image is fetched again. Until the new one arrives, the old one is sent. */
const freshMs = 4 * 3_600_000
/** Time in milliseconds after which an old image is no longer sent. */
const staleMs = 7 * 24 * 3_600_000
/** Time in milliseconds after which a failed fetch is repeated. */
const retryMs = 5 * 60_000
const rules = { isAllowed: publicOnly, timeoutMs: 10_000 }

const turnsOf = ({ state }: Pick<Context, 'state'>): FairLimiter =>
  (state.fetchTurns ??= createFairLimiter({
    atOnce: 8,
    waiting: 1000,
    waitingPerKey: 100,
    maxWaitMs: 20_000,
    rejection: () => serviceUnavailable('Too many images are being fetched. Try again in a moment.', 5),
  }))

type Caller = Pick<Context, 'caches' | 'config' | 'database' | 'limits' | 'log' | 'now' | 'state' | 'viewer' | 'ip'>

/**
 * Returns an image of another server from the cache, or fetches it: PNG, JPEG, GIF, WebP, AVIF or a sanitized SVG. Concurrent callers share one
 * fetch. Returns null if the image cannot be fetched or shown, which is remembered for a few minutes.
 * @throws ApiError RateLimitExceeded if the caller requested too many images that are not cached; ServiceUnavailable if too many are being fetched.
 */
export async function remoteImage(caller: Caller, url: string): Promise<Image | null> {
  const key = createHash('sha256')
    .update(JSON.stringify([revision, url]))
    .digest('hex')
  const cached = await findImage(caller, key)
  const age = cached ? caller.now().getTime() - cached.fetchedAt.getTime() : Infinity
  if (cached && cached.sha256 === null && age < retryMs) return null
  const content = cached?.sha256 && age < staleMs ? await readImage(caller, cached.sha256) : null
  if (!content || !cached?.mediaType) {
    // Callers who join a fetch that is under way cost nothing.
    if (!caller.state.fetches?.has(key)) await caller.limits.use('imageFetch', caller.viewer?.id ?? addressKey(caller.ip))
    return fetchOnce(caller, key, url, false)
  }
  // A failure is logged by the fetch.
  if (age > freshMs) fetchOnce(caller, key, url, true).catch(() => {})
  return { content, mediaType: cached.mediaType }
}

function fetchOnce(caller: Caller, key: string, url: string, hasOld: boolean): Promise<Image | null> {
  const fetches = (caller.state.fetches ??= new Map<string, Promise<Image | null>>())
  let current = fetches.get(key)
  if (!current) {
    const fetched = turnsOf(caller)(fairQueueKey(caller.ip), () => fetchImage(caller, key, url, hasOld))
    current = fetched.finally(() => fetches.delete(key))
    fetches.set(key, current)
  }
  return current
}

async function fetchImage(caller: Caller, key: string, url: string, hasOld: boolean): Promise<Image | null> {
  try {
    const image = await checkImage(caller, await download(caller, url))
    await cacheImage(caller, key, image)
    return image
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error
    caller.log.debug(`the image ${url} was not fetched: ${error.message}`)
    if (hasOld && error.isTemporary) await postponeFetch(caller, key)
    else await cacheImage(caller, key, null)
    return null
  }
}

/** Downloads a remote image, following redirects. @throws NotFetched */
async function download({ config, state }: Caller, url: string): Promise<Buffer> {
  const { timeoutMs, isAllowed } = state.imageRules ?? rules
  const headers = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'Snug image proxy' }
  const signal = AbortSignal.timeout(timeoutMs)
  const answer = await requestUrl(url, { servers: config.DNS_SERVERS, proxies: config, isAllowed, headers, signal })
  try {
    return await orTemporary(url, () => contentOf(answer))
  } finally {
    answer.destroy()
  }
}

async function contentOf(answer: IncomingMessage): Promise<Buffer> {
  const status = answer.statusCode ?? 0
  if (status !== 200) throw new NotFetched(`status ${status}`, { isTemporary: status === 429 || status >= 500, status })
  if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') throw new NotFetched('the content is encoded')
  return readContent(answer, maxImageBytes)
}

/** Returns an image that is safe to show. @throws NotFetched for other content. */
async function checkImage(caller: Caller, content: Buffer): Promise<Image> {
  const mediaType = imageTypeOf(content.subarray(0, headBytes))
  if (mediaType === null) throw new NotFetched('the content is not an image')
  if (!isShowable(content, mediaType)) throw new NotFetched('the image is too large or damaged')
  if (mediaType !== 'image/svg+xml') return { content, mediaType }
  const svg = await safeSvg(caller, content)
  if (!svg) throw new NotFetched('the SVG is too large or damaged')
  return { content: svg, mediaType }
}

type Store = Pick<Services, 'caches' | 'config' | 'database' | 'log' | 'now' | 'state'>

/** An image to cache. */
export type Image = { content: Buffer; mediaType: string }
/** The state of a cached image. `sha256` is null if there is no image. */
type Cached = { sha256: string | null; mediaType: string | null; fetchedAt: Date }

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
    if (!isRejectedForMove(error)) log.warning(`an image could not be cached: ${String(error)}`)
  }
}

/** Keeps a cached image for as long as if it had been fetched now. */
const postponeFetch = (store: Store, key: string): Promise<void> =>
  imageFiles.change(store, db.updateTable('cached_images').set({ fetched_at: store.now() }).where('key', '=', key))

/**
 * Deletes the images that were not used for the longest time if the cache is too large, and entries without an image after a day. Returns the number of
 * deleted files.
 */
export function collectImages(store: Store, limit = maxBytes): Promise<number> {
  const before = new Date(store.now().getTime() - dayMs)
  return imageFiles.collect(store, limit, db.deleteFrom('cached_images').where('sha256', 'is', null).where('fetched_at', '<', before))
}
