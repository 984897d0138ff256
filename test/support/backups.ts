import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type BackupSource, createBackup } from '../../server/operations/backup/create.ts'
import {
  blobKey,
  blobsKey,
  manifestKey,
  ownerKey,
  partialKey,
  snapshotKey,
  snapshotsKey,
} from '../../server/operations/backup/place/place.ts'
import type { Config } from '../../server/platform/config/config.ts'
import type { TestApp } from '../app.ts'
import { createDatabase } from './postgres.ts'

/** Creates a temporary folder that is removed after the test. */
export function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-backup-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Returns the paths in a folder of backups. */
export const placesIn = (root: string) => ({
  snapshots: join(root, snapshotsKey),
  blobs: join(root, blobsKey),
  partial: join(root, partialKey),
  owner: join(root, ownerKey),
  snapshot: (id: string) => join(root, snapshotKey(id)),
  manifest: (id: string) => join(root, manifestKey(id)),
  blob: (sha256: string) => join(root, blobKey(sha256)),
})

/** Returns the database and stores of a server as the source of a backup. */
export const sourceOf = ({ config, services }: TestApp): BackupSource => ({
  em: services.database.fork(),
  config,
  stores: { archives: services.blobs, docs: services.docs },
  now: services.now,
})

/** Creates a backup of a server and returns its details. */
export const backUp = (app: TestApp, folder: string) => createBackup(sourceOf(app), folder)

/** Returns the settings of an empty server: a new database of the same kind and an empty blob store. */
export async function emptyPlace({ config }: TestApp): Promise<Config> {
  const folder = folderOfTest()
  const place = {
    ...config,
    BLOB_BACKEND: 'filesystem' as const,
    DATA_DIR: folder,
    SQLITE_PATH: join(folder, 'restored.sqlite'),
    BLOB_PATH: join(folder, 'blobs'),
    DOCS_PATH: join(folder, `docs-${randomUUID()}`),
  }
  if (config.DB_BACKEND === 'sqlite') return place
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { ...place, POSTGRES_URL: url }
}
