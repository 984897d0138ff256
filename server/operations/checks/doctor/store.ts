import type { BlobStore } from '../../../platform/blobs/store.ts'
import { type Config, ConfigError } from '../../../platform/config/config.ts'
import { explainPathError } from '../../../platform/config/paths.ts'
import { causeOf } from '../../../errors.ts'
import { isThere } from '../../../platform/db/location/files.ts'
import { isOwnStore, rejectForeignStore, rejectNewDatabaseForArchives } from '../../../platform/store/identity.ts'
import { nameOfStore, openBlobs } from '../../../platform/store/open.ts'
import { writeAndRead } from '../../../platform/store/health.ts'
import { type Check, examine, failed, passed, warning } from './check.ts'
import type { DatabaseFindings } from './database.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { foreignPlace, lostPlace } from '../../backup/owner.ts'
import { describeOverlap } from '../../backup/place/settings.ts'
import { openPlace } from '../../backup/place/open.ts'
import { readState } from '../../backup/schedule/state.ts'
import { readBucketAddress } from '../../../platform/config/forms.ts'
import { adminCommand } from '../../../platform/config/version.ts'

type Database = Pick<DatabaseFindings, 'orm' | 'em'>

/** Checks that the store responds and is readable and writable, and that the server would start with this store and database. */
export async function examineStore(config: Config, database: Database): Promise<{ checks: Check[]; aheadMs: number | null }> {
  let aheadMs: number | null = null
  const checks = await examine(
    'store',
    async () => {
      // Opening a missing folder would create it.
      if (config.BLOB_BACKEND === 'filesystem' && !isThere(config.BLOB_PATH)) return [withoutFolder(config, database)]
      const opened = await open(config)
      aheadMs = opened.aheadMs
      await opened.store.check()
      await writeAndRead(opened.store).catch((error: unknown) => {
        throw config.BLOB_BACKEND === 'filesystem' ? explainPathError(causeOf(error), 'BLOB_PATH', config.BLOB_PATH) : error
      })
      const found = passed('store', `The archive store ${nameOfStore(config)} is readable and writable.`)
      return [found, ...(await checkIdentity(config, database, opened.store))]
    },
    // Covers all attempts of the S3 client.
    config.BLOB_BACKEND === 's3' ? 4 * config.S3_TIMEOUT_MS : undefined,
  )
  return { checks, aheadMs }
}

function withoutFolder({ BLOB_PATH }: Config, { em }: Database): Check {
  const message = `The archive store ${BLOB_PATH} does not exist.`
  if (em) return failed('store', message, 'Mount the volume with the archives, or correct BLOB_PATH.')
  return warning('store', message, 'The server creates it at its first start.')
}

async function open(config: Config): Promise<{ store: BlobStore; aheadMs: number | null }> {
  if (config.BLOB_BACKEND === 'filesystem') return { store: await openBlobs(config), aheadMs: null }
  const { openS3WithClock } = await import('../../../platform/blobs/s3/s3.ts')
  return openS3WithClock(config)
}

async function checkIdentity(config: Config, { orm, em }: Database, store: BlobStore): Promise<Check[]> {
  try {
    if (orm) await rejectForeignStore(orm, store, config)
    else if (config.DB_BACKEND === 'postgres' || !isThere(config.SQLITE_PATH)) await rejectNewDatabaseForArchives(config, async () => store)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const [message = '', ...advice] = error.problems
    return [failed('store identity', message, advice.join(' '))]
  }
  if (!em) return []
  if (await isOwnStore(em, store)) return [passed('store identity', 'The archive store belongs to this database.')]
  return [warning('store identity', 'The archive store is not linked to the database yet.', 'The server links them at startup.')]
}

/** Checks the destination and the state of scheduled backups. `em` is null if the database is unavailable. */
export async function examineBackups(config: Config, em: EntityManager | null): Promise<Check[]> {
  const { BACKUP_TO } = config
  if (BACKUP_TO === undefined) return []
  const isBucket = readBucketAddress(BACKUP_TO) !== null
  // Covers all attempts of the S3 client.
  return examine(
    'backups',
    async () => [await checkPlace(config, BACKUP_TO, { isBucket, em })],
    isBucket ? 4 * config.S3_TIMEOUT_MS : undefined,
  )
}

async function checkPlace(
  config: Config,
  address: string,
  { isBucket, em }: { isBucket: boolean; em: EntityManager | null },
): Promise<Check> {
  const place = await openPlace(config, address)
  const lost = em && (await lostPlace(em, place, address))
  if (lost !== null) return failed('backups', lost)
  if (!isBucket && !isThere(address)) {
    // Fails if the server could not create it.
    await place.inspect()
    const advice = 'The server creates it at startup. If it should be on a separate volume, mount that volume first.'
    return warning('backups', `The backup folder ${address} does not exist.`, advice)
  }
  await place.check()
  const within = describeOverlap(config, address)
  if (within !== null) {
    const advice = 'Set BACKUP_TO to a folder or bucket outside of the data.'
    return failed('backups', `The backup destination ${address} ${within}.`, advice)
  }
  const foreign = em && (await foreignPlace(em, place))
  if (foreign !== null) return failed('backups', foreign)
  return (em && (await lastBackup(em))) ?? passed('backups', `The backup destination ${place.name} is writable.`)
}

/** Reports that the last scheduled backup failed or is incomplete. Returns null if it is complete, or there was none. */
async function lastBackup(em: EntityManager): Promise<Check | null> {
  const { lastSuccess, lastFailure } = await readState(em)
  if (lastFailure && (!lastSuccess || lastFailure.at > lastSuccess.at))
    return warning('backups', `The last scheduled backup failed at ${lastFailure.at}: ${lastFailure.reason}`)
  if (!lastSuccess || lastSuccess.lacking === 0) return null
  const message = `The last scheduled backup, ${lastSuccess.id}, lacks ${lastSuccess.lacking} archives or documentation files that are missing or damaged on the server.`
  return warning('backups', message, `To find the affected versions: ${adminCommand} check-integrity`)
}
