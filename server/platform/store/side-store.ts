import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import { readRows } from '../db/statements.ts'
import { freeBytesAt } from './health.ts'
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
  config.BLOB_BACKEND !== 'filesystem' || (await freeBytesAt(config.BLOB_PATH)) >= config.MIN_FREE_BYTES

/** Stores content at its address and returns its SHA-256. */
export async function storeContent(blobs: BlobStore, content: Buffer): Promise<string> {
  const staged = `cached-${randomUUID()}`
  const { sha256 } = await blobs.stageWhole(staged, content)
  await blobs.promote(staged, sha256)
  return sha256
}

/** Content is stored before its row, so only older content counts as unreferenced. */
const orphanedAfterMs = 10 * 60_000
const batchSize = 500

/**
 * Deletes content to which no row of `table` refers by its column `sha256`, and unfinished uploads. Several instances may do so concurrently. Returns
 * the number of deleted files.
 */
export async function removeUnreferenced(blobs: BlobStore, em: EntityManager, table: string, at: Date): Promise<number> {
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

async function unreferenced(em: EntityManager, table: string, hashes: string[]): Promise<string[]> {
  if (hashes.length === 0) return []
  const marks = hashes.map(() => '?').join(', ')
  const rows = await readRows<{ sha256: string }>(em, `select distinct sha256 from ${table} where sha256 in (${marks})`, hashes)
  const named = new Set(rows.map(({ sha256 }) => sha256))
  return hashes.filter((sha256) => !named.has(sha256))
}

/**
 * Deletes the rows of `table` that were not used for the longest time (column `used_at`) until the rest refers to at most `limit` bytes.
 */
export async function trimRows(em: EntityManager, table: string, limit: number): Promise<void> {
  const [total] = await readRows<{ bytes: number | string | null }>(em, `select sum(bytes) as bytes from ${table}`, [])
  let excess = Number(total?.bytes ?? 0) - limit
  while (excess > 0) {
    const sql = `select key, bytes from ${table} where bytes > 0 order by used_at, key limit ${batchSize}`
    const keys: string[] = []
    for (const { key, bytes } of await readRows<{ key: string; bytes: number }>(em, sql, [])) {
      if (excess <= 0) break
      keys.push(key)
      excess -= bytes
    }
    if (keys.length === 0) return
    await em.execute(`delete from ${table} where key in (${keys.map(() => '?').join(', ')})`, keys)
  }
}
