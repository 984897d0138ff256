import { isAbsolute, relative } from 'node:path'
import { nameOfBucket } from '../../blobs/s3/settings.ts'
import { type BucketAddress, readBucketAddress } from '../../config/bucket-address.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import { ApiError } from '../../errors.ts'
import type { Log } from '../../http/log.ts'
import { openPlace } from '../place/open.ts'
import { settingsOf } from '../place/settings.ts'

/**
 * Prepares the place of the scheduled backups, if there are to be any. A service that is away keeps no server from starting: it is told.
 * @throws ConfigError when the place cannot be used.
 */
export async function checkBackupPlace(config: Config, log: Log): Promise<void> {
  const { BACKUP_TO } = config
  if (BACKUP_TO === undefined) return
  const bucket = readBucketAddress(BACKUP_TO)
  const holder = bucket ? storeAround(config, bucket) : folderAround(config, BACKUP_TO)
  if (holder !== null) throw new ConfigError([`BACKUP_TO: ${BACKUP_TO} is in ${holder}. Name a place apart from the data.`])
  try {
    await (await openPlace(config, BACKUP_TO)).prepare()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isAway = bucket && !(error instanceof ConfigError || error instanceof ApiError)
    if (!isAway) throw new ConfigError([`BACKUP_TO: ${message}`])
    log.warning(`No backup can be made at the moment: ${message}`)
  }
}

/** The folder of data that a path is in; null when it is in none. */
function folderAround({ BLOB_PATH, DOCS_PATH }: Config, path: string): string | null {
  const found = Object.entries({ BLOB_PATH, DOCS_PATH }).find(([, folder]) => {
    const way = relative(folder, path)
    return way === '' || !(way.startsWith('..') || isAbsolute(way))
  })
  return found?.[0] ?? null
}

/** The store of archives that part of a bucket is in: what is below its keys may be collected. Null when it is in none. */
function storeAround(config: Config, address: BucketAddress): string | null {
  const { S3_BUCKET, S3_PREFIX, S3_ENDPOINT } = settingsOf(config, address)
  if (config.BLOB_BACKEND !== 's3' || S3_BUCKET !== config.S3_BUCKET || S3_ENDPOINT !== config.S3_ENDPOINT) return null
  const own = ['staging/', 'sha256/', 'removed/'].some((folder) => S3_PREFIX.startsWith(`${config.S3_PREFIX}${folder}`))
  return own || S3_PREFIX === config.S3_PREFIX ? `the archive store ${nameOfBucket(config)}` : null
}
