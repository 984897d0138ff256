import { conflict } from '../../../errors.ts'
import { holdSetting } from '../../../platform/store/hold.ts'
import { ownerSetting } from '../owner.ts'
import type { SnapshotFiles } from '../place/place.ts'
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../../../platform/config/config.ts'
import { makeFolder } from '../../../platform/db/location/files.ts'
import type { Stores } from '../../../platform/store/open.ts'
import type { Manifest } from '../manifest.ts'

/** A database that a backup is restored into. */
export type Target = {
  /**
   * Returns the store id of a database that has accounts or packages; null when it is empty.
   * @throws ApiError Conflict when it has tables that do not match the schema of the backup.
   */
  occupiedBy: () => Promise<string | null>
  /** Restores and verifies all rows atomically. `prepared` runs right before, and nothing is visible until the end. */
  fill: (files: SnapshotFiles, prepared: () => Promise<void>) => Promise<void>
  /** Migrates the schema from the version of the backup to the current version. */
  upgrade: () => Promise<void>
  close: () => Promise<void>
}

/** Settings that are not restored because they belong to the server that was backed up: its removal hold and its id as the owner of backups. */
export const settingsLeftOut: readonly string[] = [holdSetting.key, ownerSetting.key]

/** Builds the error for a target database that is in use. A restore never overwrites data. */
export const occupied = () =>
  conflict('The database already contains accounts or packages. A backup can only be restored into an empty database. Use another one.')

/**
 * Checks that a backup fits on the local disks, by the sizes in its manifest. Blobs that an interrupted restore already wrote count as free space.
 * `isRemote` means that the database files are downloaded first and need space, too.
 * @throws ApiError Conflict when there is not enough free space.
 */
export async function requireDiskSpace(
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
    // Some volumes do not count blocks and report zero for every value.
    if (blocks > 0 && bavail * bsize < bytes + config.MIN_FREE_BYTES)
      throw conflict(
        `The backup needs ${bytes} bytes at ${path}, but only ${bavail * bsize} are free. Free up space there, or use another location.`,
      )
  }
}

async function bytesIn({ archives, docs }: Stores): Promise<number> {
  let sum = 0
  for (const store of new Set([archives, docs])) for await (const { bytes } of store.list()) sum += bytes
  return sum
}
