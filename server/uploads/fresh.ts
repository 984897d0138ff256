import { inOwnMemory } from '../caches/retained-bytes.ts'
import type { Services } from '../services.ts'

declare module '../caches/caches.ts' {
  interface CachedValues {
    /** Small archives that were just staged, by where: they are usually finished at once, and need not be read from disk then. */
    uploads: Buffer
  }
}

type Keeper = Pick<Services, 'caches'>

/** Keeps the bytes that are staged under this name for a minute, while there is room. */
export const keepFresh = ({ caches: { uploads } }: Keeper, stagedAs: string, bytes: Buffer): void =>
  void uploads.set(stagedAs, inOwnMemory(bytes))

/** Returns the bytes that are staged under this name, once; null when they must be read from the store. */
export function takeFresh({ caches: { uploads } }: Keeper, stagedAs: string): Buffer | null {
  const bytes = uploads.get(stagedAs) ?? null
  uploads.delete(stagedAs)
  return bytes
}
