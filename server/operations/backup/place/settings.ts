import type { BucketUse, S3Config } from '../../../platform/blobs/s3/settings.ts'
import type { BucketAddress } from '../../../platform/config/bucket-address.ts'
import type { Config } from '../../../platform/config/config.ts'
import { partialKey } from './layout.ts'

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
export function settingsOf(config: PlaceConfig, { bucket, prefix }: BucketAddress): S3Config {
  const [id, secret] = config.BACKUP_S3_ACCESS_KEY_ID
    ? [config.BACKUP_S3_ACCESS_KEY_ID, config.BACKUP_S3_SECRET_ACCESS_KEY]
    : [config.S3_ACCESS_KEY_ID, config.S3_SECRET_ACCESS_KEY]
  const endpoint = config.BACKUP_S3_ENDPOINT ?? config.S3_ENDPOINT
  return {
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
