import { resolve } from 'node:path'
import { type BucketAddress, readBucketAddress } from '../../../platform/config/bucket-address.ts'
import { invalidInput } from '../../../errors.ts'
import { folderPlace } from './folder.ts'
import type { BackupPlace } from './place.ts'
import type { PlaceConfig } from './settings.ts'

/**
 * Opens a backup location: a folder, or part of a bucket given as `s3://bucket/prefix`. Makes no requests yet.
 * @throws ApiError InvalidInput for any other address.
 */
export async function openPlace(config: PlaceConfig, address: string): Promise<BackupPlace> {
  const bucket = bucketIn(address)
  if (!bucket) return folderPlace(resolve(address))
  // The S3 client is large, so it is imported only when needed.
  const { bucketPlace } = await import('./bucket.ts')
  return bucketPlace(config, bucket)
}

function bucketIn(address: string): BucketAddress | null {
  try {
    return readBucketAddress(address)
  } catch (error) {
    throw invalidInput(`The place for backups cannot be used: ${error instanceof Error ? error.message : String(error)}.`)
  }
}
