import { existsSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import type { EntityManager, MikroORM } from '@mikro-orm/sql'
import { z } from 'zod'
import type { BlobStore } from '../blobs/store.ts'
import { db } from '../db/query.ts'
import { hasTable, readRows } from '../db/statements.ts'
import { lockSetting, readSettingIn, type Setting, writeSetting } from '../settings/service.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { nameOfDatabase } from '../db/location/missing.ts'
import { adminCommand } from '../config/version.ts'
import { nameOfStore, type StoreConfig } from './open.ts'

/** The identity of a database: its id, if it has one, and the archives of some of its versions. */
type DatabaseSide = { id: string | null; archives: string[] }

/**
 * Rejects a new SQLite file for a store that already has archives, before the file is created. `look` opens the store, or returns null if it does not
 * exist.
 * @throws ConfigError with the remedy.
 */
export async function rejectNewDatabaseForArchives(place: Place, look: () => Promise<BlobStore | null>): Promise<void> {
  if (place.DB_BACKEND === 'postgres' || existsSync(place.SQLITE_PATH)) return
  await requireMatch({ id: null, archives: [] }, await look(), place)
}

/**
 * Rejects a store that belongs to another database, before anything is written. `blobs` is null if the store does not exist yet.
 * @throws ConfigError with the remedy.
 */
export async function rejectForeignStore(orm: MikroORM, blobs: BlobStore | null, place: Place): Promise<void> {
  await requireMatch(await readDatabase(orm), blobs, place)
}

/**
 * Ties a matching database and store together by storing the same id in both. The id is written to the database first. After a crash in between, the
 * next start claims the store if it is empty or has the archives of the database.
 * @throws ConfigError if another database claimed the store in the meantime.
 */
export async function joinStore(em: EntityManager, blobs: BlobStore, place: Place): Promise<void> {
  const [known, marked] = [await readSettingIn(em, storeId), await blobs.identity()]
  if (known !== null && known === marked) return
  // Another instance may store its id first. That id is used then.
  const id = known ?? (await lockSetting(em, { key: storeId.key, schema: z.string(), initial: randomUUID() }))
  // An empty store may be claimed from another database that has no archives either. The other database is rejected from then on.
  if ((await blobs.identify(id, { replace: known === null && marked !== null })) !== id) throw storeMismatch('other', place)
}

/**
 * Ties a database and a store together with a new id, whatever they were tied to before. `record` runs in the same transaction, for the audit log.
 */
export async function adoptStore(em: EntityManager, blobs: BlobStore, record: (em: EntityManager) => void = () => {}): Promise<void> {
  const id = randomUUID()
  await em.transactional(async (inner) => {
    await writeSetting(inner, storeId, id)
    record(inner)
  })
  await blobs.identify(id, { replace: true })
}

/** Returns the id that the database shares with its store, or null if it has none. */
export const readStoreId = (em: EntityManager): Promise<string | null> => readSettingIn(em, storeId)

/** Returns whether the store still belongs to this database. */
export async function isOwnStore(em: EntityManager, blobs: BlobStore): Promise<boolean> {
  const id = await readStoreId(em)
  return id !== null && (await blobs.identity()) === id
}

/** Prefix of the marker that replaces the id of a store until a backup has been restored completely. */
export const restoringPrefix = 'restoring '

const storeId: Setting<string | null> = { key: 'store.id', schema: z.string().nullable(), initial: null }
const sampleSize = 20

async function requireMatch(database: DatabaseSide, blobs: BlobStore | null, place: Place): Promise<void> {
  const problem = await findMismatch(database, blobs)
  if (problem) throw storeMismatch(problem, place)
}

/** Returns the reason why a database and a store do not match, or null if they do. */
async function findMismatch(database: DatabaseSide, blobs: BlobStore | null): Promise<Problem | null> {
  const storeId = (await blobs?.identity()) ?? null
  if (storeId?.startsWith(restoringPrefix)) return 'unfinished'
  if (database.id !== null && storeId !== null) return database.id === storeId ? null : 'other'
  const hasVersions = database.archives.length > 0
  const filled = blobs !== null && (await hasArchives(blobs)) ? blobs : null
  if (!hasVersions) return filled ? 'emptyDatabase' : null
  if (!filled) return 'emptyStore'
  // A store with the marker of another database belongs to that database, whatever it contains.
  if (storeId !== null) return 'other'
  return (await hasMostOf(filled, database.archives)) ? null : 'strange'
}

async function hasArchives(blobs: BlobStore): Promise<boolean> {
  for await (const _ of blobs.list()) return true
  return false
}

/** Returns whether the store has more than half of the archives. A few may be lost. */
async function hasMostOf(blobs: BlobStore, archives: string[]): Promise<boolean> {
  const found = await Promise.all(archives.map((sha256) => blobs.has(sha256)))
  return found.filter(Boolean).length * 2 > archives.length
}

/** Reads the identity of a database, whose schema may be older or missing. */
async function readDatabase(orm: MikroORM): Promise<DatabaseSide> {
  const id = (await hasTable(orm, 'server_settings')) ? await readSettingIn(orm.em.fork(), storeId) : null
  if (!(await hasTable(orm, 'package_versions'))) return { id, archives: [] }
  const some = (order: 'asc' | 'desc') =>
    readRows(orm.em.fork(), db.selectFrom('package_versions').select('archive_sha256').orderBy('id', order).limit(sampleSize))
  const rows = [...(await some('asc')), ...(await some('desc'))]
  return { id, archives: [...new Set(rows.map(({ archive_sha256 }) => archive_sha256))] }
}

/** Reasons why a database and a store do not match. */
type Problem = 'other' | 'emptyDatabase' | 'emptyStore' | 'strange' | 'unfinished'

/** The settings that identify a database and a store. */
type Place = Pick<Config, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'> & StoreConfig

/** Returns the error for a mismatch, with the remedy. */
export function storeMismatch(problem: Problem, place: Place): ConfigError {
  const [store, database] = [`the archive store ${nameOfStore(place)}`, nameOfDatabase(place)]
  if (problem === 'unfinished')
    return new ConfigError([
      `A restore of a backup into ${store} was interrupted, so the server does not start.`,
      `Run it again, from the beginning: ${adminCommand} restore <place>. To start without the backup, configure an empty store and a new database.`,
    ])
  const why = {
    other: `${store} belongs to another database than ${database}: their ids differ.`,
    emptyDatabase: `${store} has archives, but ${database} has no packages: it is new, or this store belongs to another database.`,
    emptyStore: `${database} has packages, but ${store} has no archives: it is new, not mounted, or belongs to another database.`,
    strange: `${store} does not have the archives of the packages in ${database}.`,
  }[problem]
  const variable = place.DB_BACKEND === 'sqlite' ? 'SQLITE_PATH' : 'POSTGRES_URL'
  const where = place.BLOB_BACKEND === 'filesystem' ? 'BLOB_PATH' : 'S3_BUCKET, S3_PREFIX'
  return new ConfigError([
    `${why.charAt(0).toUpperCase()}${why.slice(1)} Nothing was changed, and the server does not start.`,
    `If they do not belong together, correct ${where} or ${variable} so that every database has its own store.`,
    `If they do, for example after restoring a backup, assign the store to the database: ${adminCommand} adopt-store`,
  ])
}
