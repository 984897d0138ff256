import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { serviceUnavailable } from '../../../errors.ts'
import type { Context } from '../../../platform/access/context.ts'
import { inOwnMemory } from '../../../platform/caches/retained-bytes.ts'
import { fairQueueKey } from '../../../platform/http/limits.ts'
import { createFairLimiter } from '../../../platform/threads/fair-limiter.ts'
import { openThreadPool, ThreadFailed } from '../../../platform/threads/pool.ts'

/** Larger SVGs are not shown. */
export const maxSvgBytes = 2 * 1024 ** 2

declare module '../../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Sanitized SVGs by the hash of the original, empty if there is nothing to show, and cached images by their hash. */
    pictures: Buffer
  }
}

/**
 * Sanitizes an SVG in a thread with a timeout. Returns null if the image cannot be shown: too large, too slow, or empty.
 * @throws ApiError ServiceUnavailable if too many images are waiting, or no thread can be started.
 */
export async function safeSvg(context: Pick<Context, 'caches' | 'viewer' | 'ip'>, bytes: Buffer): Promise<Buffer | null> {
  const turn = context.viewer?.id ?? fairQueueKey(context.ip)
  if (bytes.length > maxSvgBytes) return null
  const key = createHash('sha256').update('svg').update(bytes).digest('hex')
  let svg = context.caches.pictures.get(key)
  if (!svg) {
    svg = Buffer.from((await inTurn(turn, () => sanitizeInThread(bytes.toString('utf8')))) ?? '')
    context.caches.pictures.set(key, inOwnMemory(svg))
  }
  return svg.length === 0 ? null : svg
}

async function sanitizeInThread(source: string): Promise<string | null> {
  try {
    return (await ask(source)) as string | null
  } catch (failure) {
    if (failure instanceof ThreadFailed && failure.wasAtWork) return null
    throw Object.assign(serviceUnavailable('The image could not be prepared. Try again in a minute.', 60), { cause: failure })
  }
}

const ask = openThreadPool(new URL('./worker.ts', import.meta.url), {
  deadlineMs: 2000,
  idleMs: 30_000,
  memory: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
})
const inTurn = createFairLimiter({
  atOnce: availableParallelism() > 2 ? 2 : 1,
  waiting: 1000,
  waitingPerKey: 200,
  maxWaitMs: 10_000,
  rejection: () => serviceUnavailable('Too many images are waiting to be prepared. Try again in a moment.', 5),
})
