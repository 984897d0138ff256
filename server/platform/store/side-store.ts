import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import type { BlobStore } from '../blobs/store.ts'
import type { Config } from '../config/config.ts'
import { db, type Query, type Tables } from '../db/query.ts'
import type { Services } from '../../services.ts'
import { changeRows, readRow, readRows } from '../db/statements.ts'
import { isRejectedForMove } from '../db/unavailable.ts'
import { readFreeBytes } from './health.ts'
import { openBlobs } from './open.ts'

declare module '../../services.ts' {
  interface State {
    /** Stores of side tables, by their folder. */
    sideStores?: Map<string, Promise<BlobStore>>
  }
}

/** The tables whose rows refer to the content of such a store, by their names. */
type SideTable = { [Name in keyof Tables]: 'key' | 'sha256' | 'bytes' | 'used_at' extends keyof Tables[Name] ? Name : never }[keyof Tables]

type Needed = Pick<Services, 'config' | 'log' | 'now' | 'state'> & { database: Pick<Services['database'], 'fork'> }

const halfDayMs = 12 * 3_600_000

/**
 * A cache: a table whose rows refer to files in a store of their own, the folder `folder` of the archive store. Rows and files may be deleted at any time,
 * because they can be fetched or made again. `what`: what the log calls a row.
 */
export function sideTable(table: SideTable, { folder, what }: { folder: string; what: string }) {
  function store({ config, state }: Pick<Needed, 'config' | 'state'>): Promise<BlobStore> {
    const stores = (state.sideStores ??= new Map<string, Promise<BlobStore>>())
    let opened = stores.get(folder)
    if (!opened) stores.set(folder, (opened = openSideStore(config, folder)))
    // A failure is not remembered.
    opened.catch(() => stores.delete(folder))
    return opened
  }

  const rowOf = (key: string) => db.updateTable(table).where('key', '=', key)

  /** Changes rows. A failure is only logged. */
  async function change({ database, log }: Needed, update: Query<unknown>): Promise<void> {
    try {
      await changeRows(database.fork(), update)
    } catch (error) {
      if (!isRejectedForMove(error)) log.warning(`${what} could not be updated: ${String(error)}`)
    }
  }

  return {
    store,
    change,

    /** Records that a file was sent, once in half a day. */
    recordUse: async (services: Needed, key: string, usedAt: Date): Promise<void> => {
      if (usedAt.getTime() < services.now().getTime() - halfDayMs) await change(services, rowOf(key).set({ used_at: services.now() }))
    },

    /** Stores content and returns its SHA-256, or null if the disk is almost full. */
    keep: async (services: Needed, content: Buffer): Promise<string | null> =>
      (await hasSpace(services.config)) ? storeContent(await store(services), content) : null,

    /**
     * Runs `fileless`, which deletes rows without a file. Then deletes the least recently used rows beyond `limit` bytes, and files to which no row
     * refers. Several instances may do so concurrently. Returns the number of deleted files.
     */
    collect: async (services: Needed, limit: number, fileless: Query<unknown>): Promise<number> => {
      const em = services.database.fork()
      await changeRows(em, fileless)
      await trimRows(em, table, limit)
      // Without rows, the store need not be opened.
      const isUnused = !services.state.sideStores?.has(folder) && !(await readRow(em, db.selectFrom(table).select('key').limit(1)))
      return isUnused ? 0 : removeUnreferenced(await store(services), em, table, services.now())
    },
  }
}

/** Opens a store of its own, so that archives can be listed, verified, backed up and moved without it. */
const openSideStore = (config: Config, folder: string): Promise<BlobStore> =>
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

/** Content is stored before its row, so only older content counts as unreferenced. */
const orphanedAfterMs = 10 * 60_000
const batchSize = 500

/**
 * Deletes content to which no row of `table` refers by its column `sha256`, and unfinished uploads. Several instances may do so concurrently. Returns
 * the number of deleted files.
 */
async function removeUnreferenced(blobs: BlobStore, em: EntityManager, table: SideTable, at: Date): Promise<number> {
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
async function trimRows(em: EntityManager, table: SideTable, limit: number): Promise<void> {
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
