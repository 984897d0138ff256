import { resolve } from 'node:path'
import { type BucketAddress, readBucketAddress } from '../../../platform/config/forms.ts'
import { ApiError, invalidInput } from '../../../errors.ts'
import { folderPlace } from './folder.ts'
import type { BackupPlace } from './place.ts'
import { describeOverlap, type PlaceConfig } from './settings.ts'
import { type Config, ConfigError } from '../../../platform/config/config.ts'
import type { Log } from '../../../platform/http/log.ts'

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

/**
 * Checks that scheduled backups, if configured, can be created in BACKUP_TO, without writing anything. An unreachable bucket is logged and does
 * not prevent the start.
 * @throws ConfigError when the location cannot be used.
 */
export async function checkBackupPlace(config: Config, log: Log): Promise<void> {
  const { BACKUP_TO } = config
  if (BACKUP_TO === undefined) return
  const bucket = readBucketAddress(BACKUP_TO)
  const within = describeOverlap(config, BACKUP_TO)
  if (within !== null) throw new ConfigError([`BACKUP_TO: ${BACKUP_TO} ${within}. Name a place apart from the data.`])
  try {
    await (await openPlace(config, BACKUP_TO)).inspect()
  } catch (error) {
    const isAway = bucket && !(error instanceof ConfigError || error instanceof ApiError)
    if (!isAway) throw unusablePlace(error)
    log.warning(`No backup can be made at the moment: ${messageOf(error)}`)
  }
}

/**
 * Creates the folder for scheduled backups, if configured.
 * @throws ConfigError when it cannot be created.
 */
export async function makeBackupFolder(config: Config): Promise<void> {
  const { BACKUP_TO } = config
  if (BACKUP_TO === undefined || readBucketAddress(BACKUP_TO)) return
  await (await openPlace(config, BACKUP_TO)).prepare().catch((error: unknown) => {
    throw unusablePlace(error)
  })
}

const unusablePlace = (error: unknown) => new ConfigError([`BACKUP_TO: ${messageOf(error)}`])
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
