import { z } from 'zod'
import { keyPrefix } from './forms.ts'

/** Part of a bucket. */
export type BucketAddress = { bucket: string; prefix: string }

/**
 * Reads `s3://bucket/prefix`. Null for what is a path.
 * @throws RangeError for any other address, without what is in it: that may be a secret.
 */
export function readBucketAddress(text: string): BucketAddress | null {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? []
  if (scheme === undefined && !/^s3:/i.test(text)) return null
  if (/^[^/]*@/.test(rest)) throw new RangeError('an address has no key in it: set BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY')
  const [, bucket, path = ''] = /^([A-Za-z0-9][A-Za-z0-9._-]{1,62})(?:\/(.*))?$/.exec(rest) ?? []
  const prefix = keyPrefix.safeParse(path)
  if (scheme?.toLowerCase() !== 's3' || bucket === undefined || !prefix.success)
    throw new RangeError('write a folder, or s3://bucket/prefix with letters, digits, and . _ - /')
  return { bucket, prefix: prefix.data }
}

/** Where backups are: a folder or part of a bucket. */
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
