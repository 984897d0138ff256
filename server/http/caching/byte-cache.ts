import { LRUCache } from 'lru-cache'

/** A cache that holds at most so many bytes. Its name is what metrics call it. */
export class ByteCache<Value extends object | string> extends LRUCache<string, Value> {
  readonly name: string

  constructor(name: string, limit: number, bytesOf: (value: Value) => number) {
    super({
      maxSize: limit,
      maxEntrySize: limit / 4,
      sizeCalculation: (value, key) => bytesOf(value) + 2 * key.length + overhead,
    })
    this.name = name
  }
}

/** A cache that holds at most `limit` bytes, as `bytesOf` counts them. What is larger than a quarter of that is not kept. */
export const byteCache = <Value extends object | string>(
  name: string,
  limit: number,
  bytesOf: (value: Value) => number,
): ByteCache<Value> => new ByteCache(name, limit, bytesOf)

/** What an entry costs beside its bytes, roughly. */
const overhead = 256

/** How often something was found in a cache, and how often not. */
export type Looks = { hits: number; misses: number }

const looks = new Map<string, Looks>()

/**
 * Counts the look-ups of every cache of this process from now on, by its name: also of those that were made before. Where nobody asks for that,
 * a look-up costs nothing more.
 */
export function countLooks(): ReadonlyMap<string, Looks> {
  Object.defineProperty(ByteCache.prototype, 'get', { value: countedGet, configurable: true, writable: true })
  return looks
}

function countedGet(this: ByteCache<object>, ...given: Parameters<ByteCache<object>['get']>): object | undefined {
  const value = LRUCache.prototype.get.apply(this, given) as object | undefined
  let count = looks.get(this.name)
  if (!count) looks.set(this.name, (count = { hits: 0, misses: 0 }))
  if (value === undefined) count.misses++
  else count.hits++
  return value
}
