import { createHash } from 'node:crypto'
import type { Context } from '../../../platform/access/context.ts'
import { inOwnMemory } from '../../../platform/caches/retained-bytes.ts'
import { turnOf } from '../../../platform/http/limits.ts'
import { nullIfFailed, openTaskQueue, type TaskQueue } from '../../../platform/threads/task-queue.ts'

/** Larger SVGs are not shown. */
export const maxSvgBytes = 2 * 1024 ** 2

declare module '../../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Sanitized SVGs by the hash of the original, empty if there is nothing to show, and cached images by their hash. */
    pictures: Buffer
  }
}

declare module '../../../services.ts' {
  interface State {
    svgQueue?: TaskQueue
  }
}

/**
 * Sanitizes an SVG in a thread with a timeout. Returns null if the image cannot be shown: too large, too slow, or empty.
 * @throws ApiError ServiceUnavailable if too many images are waiting, or no thread can be started.
 */
export async function safeSvg(context: Pick<Context, 'caches' | 'state' | 'viewer' | 'ip'>, bytes: Buffer): Promise<Buffer | null> {
  if (bytes.length > maxSvgBytes) return null
  const key = createHash('sha256').update('svg').update(bytes).digest('hex')
  let svg = context.caches.pictures.get(key)
  if (!svg) {
    const source = bytes.toString('utf8')
    const safe = (await queueOf(context).run(turnOf(context), source).catch(nullIfFailed)) as string | null
    svg = Buffer.from(safe ?? '')
    context.caches.pictures.set(key, inOwnMemory(svg))
  }
  return svg.length === 0 ? null : svg
}

const queueOf = ({ state }: Pick<Context, 'state'>): TaskQueue =>
  (state.svgQueue ??= openTaskQueue(new URL('./worker.ts', import.meta.url), {
    deadlineMs: 2000,
    idleMs: 30_000,
    heapMb: 128,
    waiting: 1000,
    waitingPerKey: 200,
    maxWaitMs: 10_000,
    full: 'Too many images are waiting to be prepared. Try again in a moment.',
    failed: 'The image could not be prepared. Try again in a minute.',
  }))
