import type { BlobStore } from '../../../platform/blobs/store.ts'
import { type Config, ConfigError } from '../../../platform/config/config.ts'
import { isThere } from '../../../platform/db/location/files.ts'
import { isOwnStore, refuseForeignStore, refuseNewDatabaseForArchives } from '../../../platform/store/identity.ts'
import { nameOfStore, openBlobs } from '../../../platform/store/open.ts'
import { writeAndRead } from '../../../platform/store/health.ts'
import { type Check, examine } from './check.ts'
import type { DatabaseFindings } from './database.ts'

/** Results of the archive store checks. */
export type StoreFindings = { checks: Check[]; aheadMs: number | null }

type Database = Pick<DatabaseFindings, 'orm' | 'em'>

/** Checks that the store responds and is readable and writable, and that the server would start with this store and database. */
export async function examineStore(config: Config, database: Database): Promise<StoreFindings> {
  let aheadMs: number | null = null
  const checks = await examine(
    'store',
    async () => {
      // Opening a missing folder would create it.
      if (config.BLOB_BACKEND === 'filesystem' && !isThere(config.BLOB_PATH)) return [withoutFolder(config, database)]
      const opened = await open(config)
      aheadMs = opened.aheadMs
      await opened.store.check()
      await writeAndRead(opened.store)
      const message = `The archive store ${nameOfStore(config)} is readable and writable.`
      return [{ name: 'store', status: 'ok', message }, ...(await checkIdentity(config, database, opened.store))]
    },
    // Covers all attempts of the S3 client.
    config.BLOB_BACKEND === 's3' ? 4 * config.S3_TIMEOUT_MS : undefined,
  )
  return { checks, aheadMs }
}

function withoutFolder({ BLOB_PATH }: Config, { em }: Database): Check {
  const message = `The archive store ${BLOB_PATH} does not exist.`
  if (em) return { name: 'store', status: 'failed', message, advice: 'Mount the volume with the archives, or correct BLOB_PATH.' }
  return { name: 'store', status: 'warning', message, advice: 'The server creates it at its first start.' }
}

async function open(config: Config): Promise<{ store: BlobStore; aheadMs: number | null }> {
  if (config.BLOB_BACKEND === 'filesystem') return { store: await openBlobs(config), aheadMs: null }
  const { openS3WithClock } = await import('../../../platform/blobs/s3/s3.ts')
  return openS3WithClock(config)
}

async function checkIdentity(config: Config, { orm, em }: Database, store: BlobStore): Promise<Check[]> {
  const check = { name: 'store identity' }
  try {
    if (orm) await refuseForeignStore(orm, store, config)
    else if (config.DB_BACKEND === 'postgres' || !isThere(config.SQLITE_PATH)) await refuseNewDatabaseForArchives(config, async () => store)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const [message = '', ...advice] = error.problems
    return [{ ...check, status: 'failed', message, advice: advice.join(' ') }]
  }
  if (!em) return []
  if (await isOwnStore(em, store)) return [{ ...check, status: 'ok', message: 'The archive store belongs to this database.' }]
  const message = 'The archive store is not linked to the database yet.'
  return [{ ...check, status: 'warning', message, advice: 'The server links them at startup.' }]
}
