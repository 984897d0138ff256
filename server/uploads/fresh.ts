import { LRUCache } from 'lru-cache'
import { maxWholeBytes } from './beginning.ts'

const minuteMs = 60_000

/** Small archives that were just staged, by where: whoever sends one finishes at once, and then it need not be read from disk. */
const fresh = new LRUCache<string, Buffer>({
  maxSize: 16 * 1024 ** 2,
  maxEntrySize: maxWholeBytes,
  sizeCalculation: ({ length }) => Math.max(length, 1),
  ttl: minuteMs,
  ttlAutopurge: true,
})

/** Keeps the bytes that are staged under this name for a minute, while there is room. */
export const keepFresh = (stagedAs: string, bytes: Buffer): void => void fresh.set(stagedAs, bytes)

/** The bytes that are staged under this name, once: whoever asks again has to read them. */
export function takeFresh(stagedAs: string): Buffer | null {
  const bytes = fresh.get(stagedAs) ?? null
  fresh.delete(stagedAs)
  return bytes
}
