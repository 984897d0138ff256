import { createHash } from 'node:crypto'
import { serviceUnavailable } from '../../../errors.ts'
import type { Context } from '../../../platform/access/context.ts'
import { addressKey, turnKey } from '../../../platform/http/limits.ts'
import { createFairLimiter } from '../../../platform/threads/fair-limiter.ts'
import { headBytes, imageTypeOf } from '../../files/content.ts'
import { isShowable } from '../../files/dimensions.ts'
import { safeSvg } from '../../files/svg/service.ts'
import { cacheImage, findImage, type Image, postponeFetch, readImage } from '../store.ts'
import { type Guard, publicOnly } from '../../../platform/outbound/addresses.ts'
import { NotFetched } from '../../../platform/outbound/request.ts'
import { download } from './download.ts'

declare module '../../../services.ts' {
  interface State {
    /** Remote images that are being fetched, by cache key. */
    fetches?: Map<string, Promise<Image | null>>
    /** Replaces the rules about addresses and times for remote images. */
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

const inTurn = createFairLimiter({
  atOnce: 8,
  waiting: 1000,
  waitingPerKey: 100,
  maxWaitMs: 20_000,
  refusal: () => serviceUnavailable('Too many images are being fetched. Try again in a moment.', 5),
})

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
    current = inTurn(turnKey(caller.ip), () => fetchImage(caller, key, url, hasOld)).finally(() => fetches.delete(key))
    fetches.set(key, current)
  }
  return current
}

async function fetchImage(caller: Caller, key: string, url: string, hasOld: boolean): Promise<Image | null> {
  try {
    const servers = caller.config.DNS_SERVERS
    const image = await checkImage(caller, await download(url, { servers, proxies: caller.config, ...(caller.state.imageRules ?? rules) }))
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
