import { existsSync } from 'node:fs'
import type { EntityManager } from '@mikro-orm/sql'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import { writeAndRead } from '../health/readiness.ts'
import { idOfDatabase, restoringMark } from '../store/identity.ts'
import { nameOfStore, openBlobs } from '../store/open.ts'
import { adminCommand } from '../version.ts'
import { type Check, examine } from './check.ts'

/** What was found out about the store of the archives. */
export type StoreFindings = { checks: Check[]; aheadMs: number | null }

/** Looks whether the store answers, takes bytes and gives them back, and belongs to the database. `em` is null when that cannot be asked. */
export async function examineStore(config: Config, em: EntityManager | null): Promise<StoreFindings> {
  let aheadMs: number | null = null
  const checks = await examine(
    'store',
    async () => {
      // Opening a folder that is not there would make it.
      if (config.BLOB_BACKEND === 'filesystem' && !existsSync(config.BLOB_PATH)) return [withoutFolder(config, em)]
      const opened = await open(config)
      aheadMs = opened.aheadMs
      await opened.store.check()
      await writeAndRead({ blobs: opened.store })
      const message = `The archive store ${nameOfStore(config)} answers, takes bytes and gives them back.`
      return [{ name: 'store', status: 'ok', message }, ...(em ? [await checkIdentity(em, opened.store)] : [])]
    },
    // As often as the client of the service tries.
    config.BLOB_BACKEND === 's3' ? 4 * config.S3_TIMEOUT_MS : undefined,
  )
  return { checks, aheadMs }
}

function withoutFolder({ BLOB_PATH }: Config, em: EntityManager | null): Check {
  const message = `The archive store ${BLOB_PATH} does not exist.`
  if (em) return { name: 'store', status: 'failed', message, advice: 'Mount the volume that it is on, or correct BLOB_PATH.' }
  return { name: 'store', status: 'warning', message, advice: 'The server makes it when it starts for the first time.' }
}

async function open(config: Config): Promise<{ store: BlobStore; aheadMs: number | null }> {
  if (config.BLOB_BACKEND === 'filesystem') return { store: await openBlobs(config), aheadMs: null }
  const { openS3WithClock } = await import('../blobs/s3/s3.ts')
  return openS3WithClock(config)
}

async function checkIdentity(em: EntityManager, store: BlobStore): Promise<Check> {
  const [wanted, marked] = [await idOfDatabase(em), await store.identity()]
  const check = { name: 'store identity' }
  if (wanted !== null && wanted === marked) return { ...check, status: 'ok', message: 'The archive store belongs to this database.' }
  if (marked?.startsWith(restoringMark))
    return {
      ...check,
      status: 'failed',
      message: 'A restore of a backup was interrupted.',
      advice: `Run it again: ${adminCommand} restore <place>`,
    }
  if (wanted === null || marked === null)
    return {
      ...check,
      status: 'warning',
      message: 'The archive store and the database are not tied together yet.',
      advice: 'The server does that when it starts, if they fit.',
    }
  return {
    ...check,
    status: 'failed',
    message: 'The archive store belongs to another database: their ids differ.',
    advice: `Correct BLOB_PATH, S3_BUCKET or the database, or tie the two together: ${adminCommand} adopt-store`,
  }
}
