import { type BucketUse, nameOfBucket, type S3Config } from '../../../platform/blobs/s3/settings.ts'
import { type BucketAddress, readBucketAddress } from '../../../platform/config/forms.ts'
import { type Config, dataFolderAround, isInFolder } from '../../../platform/config/config.ts'
import { partialKey } from './place.ts'
import { resolve } from 'node:path'

/** The settings for backup locations. */
export type PlaceConfig = S3Config &
  Pick<
    Config,
    | 'DATA_DIR'
    | 'BACKUP_S3_REGION'
    | 'BACKUP_S3_ENDPOINT'
    | 'BACKUP_S3_ACCESS_KEY_ID'
    | 'BACKUP_S3_SECRET_ACCESS_KEY'
    | 'BACKUP_S3_FORCE_PATH_STYLE'
  >

/** How messages refer to a backup bucket. */
export const use: BucketUse = { what: 'The place for backups', said: 'its name', variables: 'BACKUP_S3_', probes: partialKey }

/** Returns the settings of a backup bucket. Settings without a value fall back to those of the archive bucket. */
export function backupBucketSettings(config: PlaceConfig, { bucket, prefix }: BucketAddress): S3Config {
  const [id, secret] = config.BACKUP_S3_ACCESS_KEY_ID
    ? [config.BACKUP_S3_ACCESS_KEY_ID, config.BACKUP_S3_SECRET_ACCESS_KEY]
    : [config.S3_ACCESS_KEY_ID, config.S3_SECRET_ACCESS_KEY]
  const endpoint = config.BACKUP_S3_ENDPOINT ?? config.S3_ENDPOINT
  const { HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY } = config
  return {
    ...(HTTP_PROXY !== undefined && { HTTP_PROXY }),
    ...(HTTPS_PROXY !== undefined && { HTTPS_PROXY }),
    ...(ALL_PROXY !== undefined && { ALL_PROXY }),
    ...(NO_PROXY !== undefined && { NO_PROXY }),
    S3_BUCKET: bucket,
    S3_PREFIX: prefix,
    S3_REGION: config.BACKUP_S3_REGION ?? config.S3_REGION,
    S3_FORCE_PATH_STYLE: config.BACKUP_S3_FORCE_PATH_STYLE ?? config.S3_FORCE_PATH_STYLE,
    S3_TIMEOUT_MS: config.S3_TIMEOUT_MS,
    S3_CHECKSUMS: config.S3_CHECKSUMS,
    ...(endpoint !== undefined && { S3_ENDPOINT: endpoint }),
    ...(id !== undefined && secret !== undefined && { S3_ACCESS_KEY_ID: id, S3_SECRET_ACCESS_KEY: secret }),
  }
}

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
  if (!isInFolder(path, config.DATA_DIR)) return null
  return path === config.DATA_DIR ? 'is DATA_DIR' : 'contains DATA_DIR'
}

/** Describes how a location in a bucket overlaps with the archive store, whose unreferenced objects may be garbage collected. */
function bucketOverlap(config: DataConfig, address: BucketAddress): string | null {
  const { S3_BUCKET, S3_PREFIX, S3_ENDPOINT } = backupBucketSettings(config, address)
  if (config.BLOB_BACKEND !== 's3' || S3_BUCKET !== config.S3_BUCKET || S3_ENDPOINT !== config.S3_ENDPOINT) return null
  const own = ['staging/', 'sha256/', 'removed/', 'images/', 'mirror/'].some((folder) =>
    S3_PREFIX.startsWith(`${config.S3_PREFIX}${folder}`),
  )
  return own || S3_PREFIX === config.S3_PREFIX ? `is in the archive store ${nameOfBucket(config)}` : null
}
