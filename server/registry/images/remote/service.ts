import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { serviceUnavailable } from '../../../errors.ts'
import type { Context } from '../../../platform/access/context.ts'
import { addressKey, fairQueueKey } from '../../../platform/http/limits.ts'
import { createFairLimiter } from '../../../platform/threads/fair-limiter.ts'
import { headBytes, imageTypeOf, maxImageBytes } from '../../files/content.ts'
import { isShowable } from '../../files/dimensions.ts'
import { safeSvg } from '../../files/svg/service.ts'
import { cacheImage, findImage, type Image, postponeFetch, readImage } from '../store.ts'
import { type Guard, publicOnly } from '../../../platform/outbound/addresses.ts'
import { NotFetched, orTemporary, requestUrl } from '../../../platform/outbound/request.ts'

declare module '../../../services.ts' {
  interface State {
    /** Remote images that are being fetched, by cache key. */
    fetches?: Map<string, Promise<Image | null>>
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

const inTurn = createFairLimiter({
  atOnce: 8,
  waiting: 1000,
  waitingPerKey: 100,
  maxWaitMs: 20_000,
  rejection: () => serviceUnavailable('Too many images are being fetched. Try again in a moment.', 5),
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
    current = inTurn(fairQueueKey(caller.ip), () => fetchImage(caller, key, url, hasOld)).finally(() => fetches.delete(key))
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
  if (Number(answer.headers['content-length'] ?? 0) > maxImageBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxImageBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const tooLarge = () => new NotFetched(`more than ${maxImageBytes} bytes`)

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
