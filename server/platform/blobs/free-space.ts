import { readdir, statfs } from 'node:fs/promises'
import { diskFull, storageAway } from '../../errors.ts'

/** Free space below which the volume counts as full. */
const minFreeBytes = 1024 ** 2
/**
 * Milliseconds for which the store reports a full disk after a failed write. Space that is too small for an archive may otherwise look sufficient.
 */
const fullForMs = 60_000

/** Detects that the volume of a store is full. */
export type FreeSpace = {
  /** Runs a write and converts out-of-space and storage failures into errors for clients. @throws ApiError ServiceUnavailable. */
  write<Result>(work: () => Promise<Result>): Promise<Result>
  /** @throws ApiError ServiceUnavailable if the volume is full. @throws Error if the folder is not accessible. */
  check(): Promise<void>
}

/** Monitors the free space of the volume that contains `root`. */
export function watchFreeSpace(root: string): FreeSpace {
  let fullAt = Number.NEGATIVE_INFINITY
  return {
    async write(work) {
      try {
        const result = await work()
        fullAt = Number.NEGATIVE_INFINITY
        return result
      } catch (error) {
        if (isAway(error)) throw storageAway(error)
        if (!isOutOfSpace(error)) throw error
        fullAt = performance.now()
        throw diskFull()
      }
    },
    async check() {
      await readdir(root)
      if (performance.now() - fullAt < fullForMs || (await isFull(root))) throw diskFull()
    },
  }
}

/** Returns whether the folders are missing, as with an unmounted volume, or the disk fails. */
const isAway = (error: unknown) => ['ENOENT', 'EIO', 'EROFS', 'ESTALE', 'ENOTCONN'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Returns whether the volume is full or the account's quota is exceeded. */
const isOutOfSpace = (error: unknown) => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Returns whether the volume is full. File systems that do not count blocks or files report zero for both values. */
async function isFull(root: string): Promise<boolean> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(root)
  return (blocks > 0 && bavail * bsize < minFreeBytes) || (files > 0 && ffree === 0)
}
