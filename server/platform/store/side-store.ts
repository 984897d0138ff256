import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import { db, type Tables } from '../db/query.ts'
import { changeRows, readRow, readRows } from '../db/statements.ts'
import { readFreeBytes } from './health.ts'
import { openBlobs } from './open.ts'

/**
 * Opens a store in a folder of the archive store, on disk or in the bucket. It is a store of its own, so that archives can be listed, verified, backed
 * up and moved without it. For caches, whose files can be fetched or made again.
 */
export const openSideStore = (config: Config, folder: string): Promise<BlobStore> =>
  openBlobs({
    ...config,
    BLOB_PATH: join(config.BLOB_PATH, folder),
    BLOB_GROUP_READ: false,
    S3_PREFIX: `${config.S3_PREFIX}${folder}/`,
  })

/** Whether the disk of the archive store has enough free space. A cache must not take the space of archives. */
export const hasSpace = async (config: Config): Promise<boolean> =>
  config.BLOB_BACKEND !== 'filesystem' || (await readFreeBytes(config.BLOB_PATH)) >= config.MIN_FREE_BYTES

/** Stores content at its address and returns its SHA-256. */
export async function storeContent(blobs: BlobStore, content: Buffer): Promise<string> {
  const staged = `cached-${randomUUID()}`
  const { sha256 } = await blobs.stageWhole(staged, content)
  await blobs.promote(staged, sha256)
  return sha256
}

/** The tables whose rows refer to the content of such a store, by their names. */
type SideTable = { [Name in keyof Tables]: 'key' | 'sha256' | 'bytes' | 'used_at' extends keyof Tables[Name] ? Name : never }[keyof Tables]

/** Content is stored before its row, so only older content counts as unreferenced. */
const orphanedAfterMs = 10 * 60_000
const batchSize = 500

/**
 * Deletes content to which no row of `table` refers by its column `sha256`, and unfinished uploads. Several instances may do so concurrently. Returns
 * the number of deleted files.
 */
export async function removeUnreferenced(blobs: BlobStore, em: EntityManager, table: SideTable, at: Date): Promise<number> {
  const before = new Date(at.getTime() - orphanedAfterMs)
  let removed = 0
  let batch: string[] = []
  const removeBatch = async () => {
    for (const sha256 of await unreferenced(em, table, batch)) if ((await blobs.remove(sha256, { at, before })) !== null) removed++
    batch = []
  }
  for await (const { sha256, storedAt } of blobs.list()) {
    if (storedAt < before) batch.push(sha256)
    if (batch.length >= batchSize) await removeBatch()
  }
  await removeBatch()
  await blobs.collectStaged(before)
  await blobs.purge(new Date(at.getTime() + 1))
  return removed
}

async function unreferenced(em: EntityManager, table: SideTable, hashes: string[]): Promise<string[]> {
  if (hashes.length === 0) return []
  const rows = await readRows(em, db.selectFrom(table).select('sha256').distinct().where('sha256', 'in', hashes))
  const named = new Set(rows.map(({ sha256 }) => sha256))
  return hashes.filter((sha256) => !named.has(sha256))
}

/**
 * Deletes the rows of `table` that were not used for the longest time (column `used_at`) until the rest refers to at most `limit` bytes.
 */
export async function trimRows(em: EntityManager, table: SideTable, limit: number): Promise<void> {
  const total = await readRow(
    em,
    db.selectFrom(table).select(({ fn }) => fn.sum<number | null>('bytes').as('bytes')),
  )
  const oldest = db.selectFrom(table).select(['key', 'bytes']).where('bytes', '>', 0).orderBy('used_at').orderBy('key').limit(batchSize)
  let excess = (total?.bytes ?? 0) - limit
  while (excess > 0) {
    const keys: string[] = []
    for (const { key, bytes } of await readRows(em, oldest)) {
      if (excess <= 0) break
      keys.push(key)
      excess -= bytes
    }
    if (keys.length === 0) return
    await changeRows(em, db.deleteFrom(table).where('key', 'in', keys))
  }
}
