import { resolve } from 'node:path'
import { nameOfBucket } from '../../blobs/s3/settings.ts'
import { type BucketAddress, readBucketAddress } from '../../config/bucket-address.ts'
import { dataFolderAround, isIn } from '../../config/data-folder.ts'
import type { Config } from '../../config/config.ts'
import { type PlaceConfig, settingsOf } from './settings.ts'

/** What the configuration says of places for backups, and of the data that they are to be apart from. */
export type DataConfig = PlaceConfig & Pick<Config, 'BLOB_BACKEND' | 'BLOB_PATH' | 'DOCS_PATH'>

/** How a place for backups is not apart from the data, as messages say it: `is in BLOB_PATH`. Null when it is apart. */
export function dataAround(config: DataConfig, address: string): string | null {
  const bucket = readBucketAddress(address)
  if (bucket) return storeAround(config, bucket)
  const path = resolve(address)
  const holder = dataFolderAround(config, path)
  if (holder !== null) return `is in ${holder}`
  // A folder of its own below DATA_DIR is apart; what contains DATA_DIR is not, even while that is empty.
  if (!isIn(path, config.DATA_DIR)) return null
  return path === config.DATA_DIR ? 'is DATA_DIR' : 'contains DATA_DIR'
}

/** The same of a part of a bucket: what is below the keys of the archive store may be collected. */
function storeAround(config: DataConfig, address: BucketAddress): string | null {
  const { S3_BUCKET, S3_PREFIX, S3_ENDPOINT } = settingsOf(config, address)
  if (config.BLOB_BACKEND !== 's3' || S3_BUCKET !== config.S3_BUCKET || S3_ENDPOINT !== config.S3_ENDPOINT) return null
  const own = ['staging/', 'sha256/', 'removed/'].some((folder) => S3_PREFIX.startsWith(`${config.S3_PREFIX}${folder}`))
  return own || S3_PREFIX === config.S3_PREFIX ? `is in the archive store ${nameOfBucket(config)}` : null
}
