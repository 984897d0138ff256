import { LRUCache } from 'lru-cache'
import { retainedBytes } from './retained-bytes.ts'

/** The value type of each cache. Features add their caches here with `declare module`. */
export interface CachedValues {}

/** Percentage of CACHE_BYTES that each cache may use. `rows` is the cache of `Reads.recall` on SQLite. */
const shares = {
  listings: 30,
  mirror: 10,
  archives: 15,
  pictures: 2,
  documentation: 11,
  texts: 10,
  graphql: 8,
  uploads: 4,
  reports: 3,
  api_changes: 3,
  file_changes: 2,
  rows: 2,
} satisfies Record<keyof CachedValues | 'rows', number>

/** Returns the size limit of a cache in bytes if all caches together may use `total` bytes. */
export const shareOf = (name: keyof typeof shares, total: number): number => Math.floor((total * shares[name]) / 100)

/** LRU cache bounded by the bytes of its entries and keys. By default, an entry larger than half the limit is not cached. */
export class ByteCache<Value extends object | string> extends LRUCache<string, Value> {
  constructor(limit: number, options: { ttl?: number; ttlAutopurge?: boolean; maxEntrySize?: number } = {}) {
    super({ maxSize: limit, maxEntrySize: Math.ceil(limit / 2), sizeCalculation: entryBytes, ...options })
  }

  /** Counts the lookups from now on. */
  countLookups(): Lookups {
    const count = { hits: 0, misses: 0 }
    const get = (...given: Parameters<LRUCache<string, Value>['get']>): Value | undefined => {
      const value = super.get(...given)
      if (value === undefined) count.misses++
      else count.hits++
      return value
    }
    Object.defineProperty(this, 'get', { value: get })
    return count
  }
}

/** Returns the approximate memory use of a cache entry in bytes. */
export const entryBytes = (value: unknown, key: string): number => retainedBytes(value) + retainedBytes(key) + overhead

/** Bytes per entry for the map and the LRU list. */
const overhead = 128

/** The caches of one server. */
export type Caches = { readonly [Name in keyof CachedValues]: ByteCache<CachedValues[Name]> }

/** Creates the caches of a server. Together they hold at most CACHE_BYTES. */
export function openCaches({ CACHE_BYTES: total }: { CACHE_BYTES: number }): Caches {
  const open = <Name extends keyof CachedValues>(name: Name) => new ByteCache<CachedValues[Name]>(shareOf(name, total))
  return {
    listings: open('listings'),
    // Reads of one version need the whole entry, so that the largest one must fit.
    mirror: new ByteCache(shareOf('mirror', total), { maxEntrySize: shareOf('mirror', total) }),
    archives: open('archives'),
    documentation: open('documentation'),
    texts: open('texts'),
    pictures: open('pictures'),
    graphql: open('graphql'),
    // Uploads normally finish within seconds. After expiry, an upload is read from the disk again.
    uploads: new ByteCache(shareOf('uploads', total), { ttl: 60_000, ttlAutopurge: true }),
    reports: open('reports'),
    api_changes: open('api_changes'),
    file_changes: open('file_changes'),
  }
}

/** Cache lookups: number of hits and misses. */
export type Lookups = { hits: number; misses: number }

/** Starts counting lookups of the caches, by name. Lookups have no overhead until then. */
export const countLookups = (caches: Caches): ReadonlyMap<string, Lookups> =>
  new Map(Object.entries(caches).map(([name, cache]) => [name, cache.countLookups()]))
