import { readdirSync } from 'node:fs'
import { openFilesystemBlobs } from '../blobs/filesystem.ts'
import { nameOfBucket, type S3Config } from '../blobs/s3/settings.ts'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import { explainPathError } from '../config/paths.ts'
import { isThere } from '../db/location/files.ts'

/** The settings of the archive store. */
export type StoreConfig = Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH' | 'BLOB_GROUP_READ'> & S3Config

/** The stores of archives and of documentation. */
export type Stores = Record<'archives' | 'docs', BlobStore>

/** Opens the archive store. @throws ConfigError if the folder or bucket cannot be used as configured. */
export async function openBlobs(config: StoreConfig): Promise<BlobStore> {
  if (config.BLOB_BACKEND === 'filesystem') return openFolder('BLOB_PATH', config.BLOB_PATH, { groupMayRead: config.BLOB_GROUP_READ })
  // Loaded on demand, because the S3 client is large.
  const { openS3Blobs } = await import('../blobs/s3/s3.ts')
  return openS3Blobs(config)
}

/** Returns whether the archive folder is missing or empty. Opening the store would create its folders. */
export const isStoreMissing = ({ BLOB_BACKEND, BLOB_PATH }: Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH'>): boolean =>
  BLOB_BACKEND === 'filesystem' && (!isThere(BLOB_PATH) || readdirSync(BLOB_PATH).length === 0)

/** Opens the documentation store, which may be the given archive store. @throws ConfigError if the folder cannot be used. */
export const openDocs = async (config: Pick<Config, 'DOCS_BACKEND' | 'DOCS_PATH'>, archives: BlobStore): Promise<BlobStore> =>
  config.DOCS_BACKEND === 'filesystem' ? openFolder('DOCS_PATH', config.DOCS_PATH) : archives

async function openFolder(setting: string, path: string, options?: { groupMayRead: boolean }): Promise<BlobStore> {
  try {
    return await openFilesystemBlobs(path, options)
  } catch (error) {
    throw explainPathError(error, setting, path)
  }
}

/**
 * Opens the archive store and the documentation store, which may be the same.
 * @throws ConfigError if a folder or bucket cannot be used as configured.
 */
export async function openStores(config: StoreConfig & Pick<Config, 'DOCS_BACKEND' | 'DOCS_PATH'>): Promise<Stores> {
  const archives = await openBlobs(config)
  return { archives, docs: await openDocs(config, archives) }
}

/** Returns the name of the store for messages. */
export const nameOfStore = (config: StoreConfig): string => (config.BLOB_BACKEND === 'filesystem' ? config.BLOB_PATH : nameOfBucket(config))
