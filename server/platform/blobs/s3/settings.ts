import type { Config } from '../../config/config.ts'

/** The settings of a bucket. */
export type S3Config = Pick<
  Config,
  | 'S3_BUCKET'
  | 'S3_PREFIX'
  | 'S3_REGION'
  | 'S3_ENDPOINT'
  | 'S3_PUBLIC_ENDPOINT'
  | 'S3_ACCESS_KEY_ID'
  | 'S3_SECRET_ACCESS_KEY'
  | 'S3_FORCE_PATH_STYLE'
  | 'S3_TIMEOUT_MS'
  | 'S3_CHECKSUMS'
>

/** Returns the name of a bucket for messages. */
export const nameOfBucket = ({ S3_BUCKET, S3_PREFIX }: Pick<S3Config, 'S3_BUCKET' | 'S3_PREFIX'>): string =>
  `s3://${S3_BUCKET ?? ''}/${S3_PREFIX}`
