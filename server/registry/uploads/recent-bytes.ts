import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import type { Services } from '../../services.ts'

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Small archives that were just staged, by staging name. They are usually finished immediately, so caching them saves reading from disk. */
    uploads: Buffer
  }
}

type Keeper = Pick<Services, 'caches'>

/** Caches staged bytes for a minute, if the cache has space. */
export const cacheStagedBytes = ({ caches: { uploads } }: Keeper, stagedAs: string, bytes: Buffer): void =>
  void uploads.set(stagedAs, inOwnMemory(bytes))

/** Returns and removes cached staged bytes. Returns null when the bytes must be read from the store. */
export function takeCachedBytes({ caches: { uploads } }: Keeper, stagedAs: string): Buffer | null {
  const bytes = uploads.get(stagedAs) ?? null
  uploads.delete(stagedAs)
  return bytes
}
