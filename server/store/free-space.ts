import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../config/config.ts'
import { lowSpace, storageAway } from '../errors.ts'

type Places = Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH' | 'DB_BACKEND' | 'SQLITE_PATH'>
/** What has a volume on this machine. */
export type Volume = 'archives' | 'database'

/** The folders of this machine that archives and the database are in; none for S3 and PostgreSQL. */
export const localVolumes = (config: Places): { volume: Volume; folder: string }[] => [
  ...(config.BLOB_BACKEND === 'filesystem' ? [{ volume: 'archives', folder: config.BLOB_PATH } as const] : []),
  ...(config.DB_BACKEND === 'sqlite' ? [{ volume: 'database', folder: dirname(config.SQLITE_PATH) } as const] : []),
]

/** The free space at a folder, in bytes. */
export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/**
 * Checks that MIN_FREE_BYTES are free where archives and the database are, or only on one of these volumes.
 * @throws ApiError ServiceUnavailable when less is free, or a folder is out of reach.
 */
export async function requireFreeSpace(config: Places & Pick<Config, 'MIN_FREE_BYTES'>, only?: Volume): Promise<void> {
  for (const { volume, folder } of localVolumes(config)) {
    if (only !== undefined && volume !== only) continue
    const free = await freeBytesAt(folder).catch((error: unknown) => {
      throw storageAway(error)
    })
    if (free < config.MIN_FREE_BYTES) throw lowSpace(`${free} bytes are free at ${folder}, fewer than MIN_FREE_BYTES`)
  }
}
