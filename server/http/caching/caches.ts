import { LRUCache } from 'lru-cache'
import { retainedBytes } from './retained-bytes.ts'

/** What the values of each cache are. The feature that uses a cache adds it here, by `declare module`. */
export interface CachedValues {}

/** How CACHE_BYTES is divided, in percent. `rows` are those that `Reads.recall` keeps on SQLite. */
const shares = {
  listings: 40,
  archives: 17,
  documentation: 13,
  texts: 10,
  graphql: 8,
  uploads: 4,
  reports: 3,
  api_changes: 3,
  rows: 2,
} satisfies Record<keyof CachedValues | 'rows', number>

/** Returns how many bytes a cache may hold when all of them together may hold `total`. */
export const shareOf = (name: keyof typeof shares, total: number): number => Math.floor((total * shares[name]) / 100)

/** A cache that holds at most `limit` bytes, keys included, and no entry of more than half of that. Metrics show its name. */
export class ByteCache<Value extends object | string> extends LRUCache<string, Value> {
  readonly name: string

  constructor(name: string, limit: number, lifetime: { ttl?: number; ttlAutopurge?: boolean } = {}) {
    super({ maxSize: limit, maxEntrySize: Math.ceil(limit / 2), sizeCalculation: entryBytes, ...lifetime })
    this.name = name
  }
}

/** Returns what an entry of a cache takes in memory. */
export const entryBytes = (value: unknown, key: string): number => retainedBytes(value) + retainedBytes(key) + overhead

/** What a map and the order of use take for an entry. */
const overhead = 128

/** The caches of one server. */
export type Caches = { readonly [Name in keyof CachedValues]: ByteCache<CachedValues[Name]> }

/** Opens the caches of a server. They hold at most CACHE_BYTES together. */
export function openCaches({ CACHE_BYTES: total }: { CACHE_BYTES: number }): Caches {
  const open = <Name extends keyof CachedValues>(name: Name) => new ByteCache<CachedValues[Name]>(name, shareOf(name, total))
  return {
    listings: open('listings'),
    archives: open('archives'),
    documentation: open('documentation'),
    texts: open('texts'),
    graphql: open('graphql'),
    // An upload is finished within moments, or read from the disk again.
    uploads: new ByteCache('uploads', shareOf('uploads', total), { ttl: 60_000, ttlAutopurge: true }),
    reports: open('reports'),
    api_changes: open('api_changes'),
  }
}

/** How often something was found in a cache, and how often not. */
export type Looks = { hits: number; misses: number }

const looks = new Map<string, Looks>()

/**
 * Counts the look-ups of every cache of this process from now on, by its name, including those of caches that are open already. A look-up costs
 * nothing more as long as this was not called.
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
