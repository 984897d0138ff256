import { resolve } from 'node:path'
import { nameOfBucket } from '../../../platform/blobs/s3/settings.ts'
import { type BucketAddress, readBucketAddress } from '../../../platform/config/bucket-address.ts'
import { dataFolderAround, isIn } from '../../../platform/config/data-folder.ts'
import type { Config } from '../../../platform/config/config.ts'
import { type PlaceConfig, settingsOf } from './settings.ts'

/** The settings for backup locations and for the data that they must not overlap with. */
export type DataConfig = PlaceConfig & Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH' | 'DOCS_PATH'>

/** Describes how a backup location overlaps with the data, for messages, such as `is in BLOB_PATH`. Returns null if they do not overlap. */
export function describeOverlap(config: DataConfig, address: string): string | null {
  const bucket = readBucketAddress(address)
  if (bucket) return bucketOverlap(config, bucket)
  const path = resolve(address)
  const holder = dataFolderAround(config, path)
  if (holder !== null) return `is in ${holder}`
  // A subfolder of DATA_DIR is allowed. A folder that contains DATA_DIR is not, even while DATA_DIR is empty.
  if (!isIn(path, config.DATA_DIR)) return null
  return path === config.DATA_DIR ? 'is DATA_DIR' : 'contains DATA_DIR'
}

/** Describes how a location in a bucket overlaps with the archive store, whose unreferenced objects may be garbage collected. */
function bucketOverlap(config: DataConfig, address: BucketAddress): string | null {
  const { S3_BUCKET, S3_PREFIX, S3_ENDPOINT } = settingsOf(config, address)
  if (config.BLOB_BACKEND !== 's3' || S3_BUCKET !== config.S3_BUCKET || S3_ENDPOINT !== config.S3_ENDPOINT) return null
  const own = ['staging/', 'sha256/', 'removed/'].some((folder) => S3_PREFIX.startsWith(`${config.S3_PREFIX}${folder}`))
  return own || S3_PREFIX === config.S3_PREFIX ? `is in the archive store ${nameOfBucket(config)}` : null
}
