import { LRUCache } from 'lru-cache'

export type ByteCache<Value extends object | string> = LRUCache<string, Value>

/** A cache that holds at most `limit` bytes, as `bytesOf` counts them. What is larger than a quarter of that is not kept. */
export const byteCache = <Value extends object | string>(limit: number, bytesOf: (value: Value) => number): ByteCache<Value> =>
  new LRUCache({
    maxSize: limit,
    maxEntrySize: limit / 4,
    sizeCalculation: (value, key) => bytesOf(value) + 2 * key.length + overhead,
  })

/** What an entry costs beside its bytes, roughly. */
const overhead = 256
