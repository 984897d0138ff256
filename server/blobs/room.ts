import { readdir, statfs } from 'node:fs/promises'
import { diskFull, storageAway } from '../errors.ts'

/** Below this, writing fails or is about to. */
const minFreeBytes = 1024 ** 2
/** For so long after a write that found no room, the store says so: room that was too small for an archive may look like enough. */
const fullForMs = 60_000

/** Whether there is room to write. */
export type Room = {
  /** Writes; an error for lack of room, or of a storage that is away, becomes one that its receiver may read. @throws ApiError ServiceUnavailable. */
  write<Result>(work: () => Promise<Result>): Promise<Result>
  /** @throws ApiError ServiceUnavailable without room; Error when the folder is out of reach. */
  check(): Promise<void>
}

/** Watches the room of the volume that `root` is on. */
export function watchRoom(root: string): Room {
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

/** Its folders are not there, as when a volume is not mounted, or the disk under it fails. */
const isAway = (error: unknown) => ['ENOENT', 'EIO', 'EROFS', 'ESTALE', 'ENOTCONN'].includes((error as NodeJS.ErrnoException).code ?? '')

/** The volume has no space, or the account's share of it is used up. */
const isOutOfSpace = (error: unknown) => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Volumes that count no blocks or no files say zero of everything. */
async function isFull(root: string): Promise<boolean> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(root)
  return (blocks > 0 && bavail * bsize < minFreeBytes) || (files > 0 && ffree === 0)
}
