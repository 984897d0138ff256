import { type S3Bucket, s3Bucket } from './s3-service.ts'

/** The variables of a server that makes its backups in this bucket, beside those of its archives. */
export const backupVariables = ({ env }: Pick<S3Bucket, 'env'>): Record<string, string> => ({
  BACKUP_S3_ENDPOINT: env.S3_ENDPOINT ?? '',
  BACKUP_S3_ACCESS_KEY_ID: 'backups',
  BACKUP_S3_SECRET_ACCESS_KEY: 'a secret of the backups',
  BACKUP_S3_FORCE_PATH_STYLE: 'true',
})

/** An empty bucket for backups, their address below a prefix of it, and the variables of servers that use it. */
export async function backupBucket() {
  const bucket = await s3Bucket()
  return {
    bucket,
    address: `s3://${bucket.env.S3_BUCKET}/of/snug`,
    /** The key in the bucket of what has this one in the place. */
    inPlace: (key: string) => `of/snug/${key}`,
    env: backupVariables(bucket),
    [Symbol.asyncDispose]: () => bucket[Symbol.asyncDispose](),
  }
}
