import type { BlobStore } from '../blobs/store.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { isThere } from '../db/location/is-there.ts'
import { isOwnStore, refuseForeignStore, refuseNewFileBesideArchives } from '../store/identity.ts'
import { nameOfStore, openBlobs } from '../store/open.ts'
import { writeAndRead } from '../store/write-and-read.ts'
import { type Check, examine } from './check.ts'
import type { DatabaseFindings } from './database.ts'

/** What was found out about the store of the archives. */
export type StoreFindings = { checks: Check[]; aheadMs: number | null }

type Database = Pick<DatabaseFindings, 'orm' | 'em'>

/** Looks whether the store answers, takes bytes and gives them back, and whether the server would start with it and this database. */
export async function examineStore(config: Config, database: Database): Promise<StoreFindings> {
  let aheadMs: number | null = null
  const checks = await examine(
    'store',
    async () => {
      // Opening a folder that is not there would make it.
      if (config.BLOB_BACKEND === 'filesystem' && !isThere(config.BLOB_PATH)) return [withoutFolder(config, database)]
      const opened = await open(config)
      aheadMs = opened.aheadMs
      await opened.store.check()
      await writeAndRead(opened.store)
      const message = `The archive store ${nameOfStore(config)} answers, takes bytes and gives them back.`
      return [{ name: 'store', status: 'ok', message }, ...(await checkIdentity(config, database, opened.store))]
    },
    // As often as the client of the service tries.
    config.BLOB_BACKEND === 's3' ? 4 * config.S3_TIMEOUT_MS : undefined,
  )
  return { checks, aheadMs }
}

function withoutFolder({ BLOB_PATH }: Config, { em }: Database): Check {
  const message = `The archive store ${BLOB_PATH} does not exist.`
  if (em) return { name: 'store', status: 'failed', message, advice: 'Mount the volume that it is on, or correct BLOB_PATH.' }
  return { name: 'store', status: 'warning', message, advice: 'The server makes it when it starts for the first time.' }
}

async function open(config: Config): Promise<{ store: BlobStore; aheadMs: number | null }> {
  if (config.BLOB_BACKEND === 'filesystem') return { store: await openBlobs(config), aheadMs: null }
  const { openS3WithClock } = await import('../blobs/s3/s3.ts')
  return openS3WithClock(config)
}

async function checkIdentity(config: Config, { orm, em }: Database, store: BlobStore): Promise<Check[]> {
  const check = { name: 'store identity' }
  try {
    if (orm) await refuseForeignStore(orm, store, config)
    else if (config.DB_BACKEND === 'postgres' || !isThere(config.SQLITE_PATH)) await refuseNewFileBesideArchives(config, async () => store)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const [message = '', ...advice] = error.problems
    return [{ ...check, status: 'failed', message, advice: advice.join(' ') }]
  }
  if (!em) return []
  if (await isOwnStore(em, store)) return [{ ...check, status: 'ok', message: 'The archive store belongs to this database.' }]
  const message = 'The archive store and the database are not tied together yet.'
  return [{ ...check, status: 'warning', message, advice: 'The server does that when it starts: they fit.' }]
}
