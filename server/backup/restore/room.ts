import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../../config/config.ts'
import { makeFolder } from '../../db/location/private-files.ts'
import { conflict } from '../../errors.ts'
import type { Stores } from '../../store/open.ts'
import type { Manifest } from '../manifest.ts'

/**
 * Refuses a backup that does not fit on the disks of this machine, by the sizes in its manifest. What an interrupted restore brought before
 * counts as free. `isRemote` says whether the files of the database are copied here first.
 * @throws ApiError Conflict
 */
export async function requireRoom(
  config: Config,
  { files, blobs }: Manifest,
  { stores, isRemote }: { stores: Stores; isRemote: boolean },
): Promise<void> {
  const database = files.reduce((sum, file) => sum + file.bytes, 0)
  const needs: [string, number][] = []
  if (config.DB_BACKEND === 'sqlite') needs.push([dirname(config.SQLITE_PATH), database])
  if (isRemote) needs.push([config.DATA_DIR, database])
  if (config.BLOB_BACKEND === 'filesystem') needs.push([config.BLOB_PATH, blobs.bytes - (await bytesIn(stores))])
  const volumes = new Map<number, { path: string; bytes: number }>()
  for (const [path, bytes] of needs) {
    makeFolder(path)
    const { dev } = await stat(path)
    volumes.set(dev, { path, bytes: bytes + (volumes.get(dev)?.bytes ?? 0) })
  }
  for (const { path, bytes } of volumes.values()) {
    const { blocks, bavail, bsize } = await statfs(path)
    // Volumes that count no blocks report zero for everything.
    if (blocks > 0 && bavail * bsize < bytes + config.MIN_FREE_BYTES)
      throw conflict(
        `The backup needs ${bytes} bytes at ${path}, where ${bavail * bsize} are free. Make room there, or name another place.`,
      )
  }
}

async function bytesIn({ archives, docs }: Stores): Promise<number> {
  let sum = 0
  for (const store of new Set([archives, docs])) for await (const { bytes } of store.list()) sum += bytes
  return sum
}
