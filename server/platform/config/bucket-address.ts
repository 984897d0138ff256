import { z } from 'zod'
import { keyPrefix } from './forms.ts'

/** A bucket and a key prefix in it. */
export type BucketAddress = { bucket: string; prefix: string }

/**
 * Parses `s3://bucket/prefix`. Returns null for a file system path.
 * @throws RangeError for any other URL. The message does not quote the value, which may contain a secret.
 */
export function readBucketAddress(text: string): BucketAddress | null {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? []
  if (scheme === undefined && !/^s3:/i.test(text)) return null
  if (/^[^/]*@/.test(rest))
    throw new RangeError('must not contain credentials: set BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY')
  const [, bucket, path = ''] = /^([A-Za-z0-9][A-Za-z0-9._-]{1,62})(?:\/(.*))?$/.exec(rest) ?? []
  const prefix = keyPrefix.safeParse(path)
  if (scheme?.toLowerCase() !== 's3' || bucket === undefined || !prefix.success)
    throw new RangeError('write a folder, or s3://bucket/prefix with letters, digits, and . _ - /')
  return { bucket, prefix: prefix.data }
}

/** Backup destination: a folder, or a bucket with a key prefix. */
export const backupAddress = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .superRefine((value, context) => {
    try {
      readBucketAddress(value)
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : String(error))
    }
  })
