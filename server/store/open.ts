import { openFilesystemBlobs } from '../blobs/filesystem.ts'
import { nameOfBucket, type S3Config } from '../blobs/s3/settings.ts'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'

/** What the configuration says of the store of the archives. */
export type StoreConfig = Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH'> & S3Config

/**
 * Opens the store of the archives.
 * @throws ConfigError when a bucket cannot be used as it is configured.
 */
export async function openBlobs(config: StoreConfig): Promise<BlobStore> {
  if (config.BLOB_BACKEND === 'filesystem') return openFilesystemBlobs(config.BLOB_PATH)
  // Only then: the client of the service is large.
  const { openS3Blobs } = await import('../blobs/s3/s3.ts')
  return openS3Blobs(config)
}

/** How messages name the store. */
export const nameOfStore = (config: StoreConfig): string => (config.BLOB_BACKEND === 'filesystem' ? config.BLOB_PATH : nameOfBucket(config))
