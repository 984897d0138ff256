import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../config/config.ts'
import { lowSpace, storageAway } from '../../errors.ts'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { reads } from '../blobs/disk-calls.ts'
import type { BlobStore } from '../blobs/store.ts'

type Places = Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH' | 'DB_BACKEND' | 'SQLITE_PATH'>
/** Data that is stored on a local volume. */
type Volume = 'archives' | 'database'

/** Returns the local folders of archives and database. S3 and PostgreSQL have none. */
export const localVolumes = (config: Places): { volume: Volume; folder: string }[] => [
  ...(config.BLOB_BACKEND === 'filesystem' ? [{ volume: 'archives', folder: config.BLOB_PATH } as const] : []),
  ...(config.DB_BACKEND === 'sqlite' ? [{ volume: 'database', folder: dirname(config.SQLITE_PATH) } as const] : []),
]

/** Returns the free space of the volume that contains a folder, in bytes. */
export async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await reads(() => statfs(folder))
  return bavail * bsize
}

/**
 * Checks that MIN_FREE_BYTES are free on the volumes of archives and database, or on one of them.
 * @throws ApiError ServiceUnavailable if less is free or a folder is not accessible.
 */
export async function requireFreeSpace(config: Places & Pick<Config, 'MIN_FREE_BYTES'>, only?: Volume): Promise<void> {
  for (const { volume, folder } of localVolumes(config)) {
    if (only !== undefined && volume !== only) continue
    const free = await readFreeBytes(folder).catch((error: unknown) => {
      throw storageAway(error)
    })
    if (free < config.MIN_FREE_BYTES) throw lowSpace(`${free} bytes are free at ${folder}, fewer than MIN_FREE_BYTES`)
  }
}

/** Stages some bytes like an upload, reads them back and deletes them. @throws Error on failure. */
export async function writeAndRead(blobs: BlobStore): Promise<void> {
  const name = `probe-${randomUUID()}`
  try {
    await blobs.stage(name, Readable.from([Buffer.from(name)]), name.length)
    const read = Buffer.concat(await (await blobs.openStaged(name)).toArray())
    if (read.toString() !== name) throw new Error('the bytes read differ from the bytes written')
  } finally {
    await blobs.discard(name)
  }
}
