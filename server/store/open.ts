import { readdirSync } from 'node:fs'
import { openFilesystemBlobs } from '../blobs/filesystem.ts'
import { nameOfBucket, type S3Config } from '../blobs/s3/settings.ts'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import { placeProblem } from '../config/place-problem.ts'
import { isThere } from '../db/location/is-there.ts'

/** What the configuration says of the store of the archives. */
export type StoreConfig = Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH' | 'BLOB_GROUP_READ'> & S3Config

/** Where the archives are kept, and where the documentation is. */
export type Stores = Record<'archives' | 'docs', BlobStore>

/**
 * Opens the store of the archives.
 * @throws ConfigError when the folder or bucket cannot be used as it is configured.
 */
export async function openBlobs(config: StoreConfig): Promise<BlobStore> {
  if (config.BLOB_BACKEND === 'filesystem') return openFolder('BLOB_PATH', config.BLOB_PATH, { groupMayRead: config.BLOB_GROUP_READ })
  // Only then: the client of the service is large.
  const { openS3Blobs } = await import('../blobs/s3/s3.ts')
  return openS3Blobs(config)
}

/** Whether there is nothing yet where the archives are to be: opening it makes its folders. */
export const isStoreUnmade = ({ BLOB_BACKEND, BLOB_PATH }: Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH'>): boolean =>
  BLOB_BACKEND === 'filesystem' && (!isThere(BLOB_PATH) || readdirSync(BLOB_PATH).length === 0)

/**
 * Opens the store of the documentation, given that of the archives, which may be the same.
 * @throws ConfigError when the folder cannot be used.
 */
export const openDocs = async (config: Pick<Config, 'DOCS_BACKEND' | 'DOCS_PATH'>, archives: BlobStore): Promise<BlobStore> =>
  config.DOCS_BACKEND === 'filesystem' ? openFolder('DOCS_PATH', config.DOCS_PATH) : archives

async function openFolder(setting: string, path: string, options?: { groupMayRead: boolean }): Promise<BlobStore> {
  try {
    return await openFilesystemBlobs(path, options)
  } catch (error) {
    throw placeProblem(error, setting, path)
  }
}

/**
 * Opens the store of the archives and that of the documentation, which may be the same.
 * @throws ConfigError when a folder or bucket cannot be used as it is configured.
 */
export async function openStores(config: StoreConfig & Pick<Config, 'DOCS_BACKEND' | 'DOCS_PATH'>): Promise<Stores> {
  const archives = await openBlobs(config)
  return { archives, docs: await openDocs(config, archives) }
}

/** How messages name the store. */
export const nameOfStore = (config: StoreConfig): string => (config.BLOB_BACKEND === 'filesystem' ? config.BLOB_PATH : nameOfBucket(config))
