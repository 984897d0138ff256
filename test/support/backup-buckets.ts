import { type S3Bucket, s3Bucket } from './s3-service.ts'

/** Returns the environment variables for storing backups in this bucket, in addition to those for archives. */
export const backupVariables = ({ env }: Pick<S3Bucket, 'env'>): Record<string, string> => ({
  BACKUP_S3_ENDPOINT: env.S3_ENDPOINT ?? '',
  BACKUP_S3_ACCESS_KEY_ID: 'backups',
  BACKUP_S3_SECRET_ACCESS_KEY: 'a secret of the backups',
  BACKUP_S3_FORCE_PATH_STYLE: 'true',
})

/** Creates an empty bucket for backups and returns it with the address of a prefix in it and the environment variables of a server that uses it. */
export async function backupBucket() {
  const bucket = await s3Bucket()
  return {
    bucket,
    address: `s3://${bucket.env.S3_BUCKET}/of/snug`,
    /** Returns the key in the bucket for a key relative to the prefix. */
    inPlace: (key: string) => `of/snug/${key}`,
    env: backupVariables(bucket),
    [Symbol.asyncDispose]: () => bucket[Symbol.asyncDispose](),
  }
}
