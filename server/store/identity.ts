import { existsSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import type { EntityManager, MikroORM } from '@mikro-orm/sql'
import { z } from 'zod'
import type { BlobStore } from '../blobs/store.ts'
import { hasTable } from '../db/has-table.ts'
import { lockSetting, readSettingIn, type Setting, writeSetting } from '../settings/service.ts'
import { type Place, type Problem, refusal } from './problems.ts'

/** What is known of a database: its id, if it has one, and the archives of some of its versions. */
type DatabaseSide = { id: string | null; archives: string[] }
type StoreSide = { id: string | null; hasArchives: boolean }

const emptyDatabase: DatabaseSide = { id: null, archives: [] }

/**
 * Refuses archives beside an SQLite file that does not exist yet, before it is made. `look` opens the store, unless nothing is there.
 * @throws ConfigError that says what to do.
 */
export async function refuseNewFileBesideArchives(place: Place, look: () => Promise<BlobStore | null>): Promise<void> {
  if (place.DB_BACKEND === 'postgres' || existsSync(place.SQLITE_PATH)) return
  await requireFit(emptyDatabase, await look(), place)
}

/**
 * Refuses a store that belongs to another database, before anything is written into either; null is one of which nothing is there yet.
 * @throws ConfigError that says what to do.
 */
export async function refuseForeignStore(orm: MikroORM, blobs: BlobStore | null, place: Place): Promise<void> {
  await requireFit(await readDatabase(orm), blobs, place)
}

/**
 * Ties a database and a store that fit together by an id that both keep. The database gets it first: a crash in between leaves a store without
 * an id, which the next start takes for its own if it is empty or has the archives of the database.
 * @throws ConfigError when the store was given to another database meanwhile.
 */
export async function joinStore(em: EntityManager, blobs: BlobStore, place: Place): Promise<void> {
  const [known, marked] = [await readSettingIn(em, storeId), await blobs.identity()]
  if (known !== null && known === marked) return
  // Another instance may be faster: then the id is that one's.
  const id = known ?? (await lockSetting(em, { key: storeId.key, schema: z.string(), initial: randomUUID() }))
  // An empty store may be taken over from a database that has no archives either; that one is refused from then on.
  if ((await blobs.identify(id, { replace: known === null && marked !== null })) !== id) throw refusal('other', place)
}

/** Ties a database and a store by a new id, whatever they were tied to; `record` tells of it in the same transaction. */
export async function adoptStore(em: EntityManager, blobs: BlobStore, record: (em: EntityManager) => void = () => {}): Promise<void> {
  const id = randomUUID()
  await em.transactional(async (inner) => {
    await writeSetting(inner, storeId, id)
    record(inner)
  })
  await blobs.identify(id, { replace: true })
}

/** The id of a database, which its store has, too; null before it has one. */
export const idOfDatabase = (em: EntityManager): Promise<string | null> => readSettingIn(em, storeId)

/** Whether the store is still the one that belongs to this database. */
export async function isOwnStore(em: EntityManager, blobs: BlobStore): Promise<boolean> {
  const id = await idOfDatabase(em)
  return id !== null && (await blobs.identity()) === id
}

/** Begins what a store bears in place of an id until a backup is restored into it, whole. */
export const restoringMark = 'restoring '

const storeId: Setting<string | null> = { key: 'store.id', schema: z.string().nullable(), initial: null }
const sampleSize = 20

async function requireFit(database: DatabaseSide, blobs: BlobStore | null, place: Place): Promise<void> {
  const store = blobs ? { id: await blobs.identity(), hasArchives: await hasArchives(blobs) } : { id: null, hasArchives: false }
  const problem = await misfit(database, store, blobs)
  if (problem) throw refusal(problem, place)
}

/** What keeps a database and a store from working together; null when nothing does. */
async function misfit(database: DatabaseSide, store: StoreSide, blobs: BlobStore | null): Promise<Problem | null> {
  if (store.id?.startsWith(restoringMark)) return 'unfinished'
  const hasVersions = database.archives.length > 0
  if (database.id !== null && store.id !== null) return database.id === store.id ? null : 'other'
  if (!hasVersions && !store.hasArchives) return null
  if (!hasVersions) return 'emptyDatabase'
  if (!blobs || !store.hasArchives) return 'emptyStore'
  // A store that another database has marked is that one's, whatever it contains.
  if (store.id !== null) return 'other'
  return (await holdsMostOf(blobs, database.archives)) ? null : 'strange'
}

async function hasArchives(blobs: BlobStore): Promise<boolean> {
  for await (const _ of blobs.list()) return true
  return false
}

/** Some archives may be lost without the store being another one. */
async function holdsMostOf(blobs: BlobStore, archives: string[]): Promise<boolean> {
  const found = await Promise.all(archives.map((sha256) => blobs.has(sha256)))
  return found.filter(Boolean).length * 2 > archives.length
}

/** Reads what there is; the schema may be that of an older version, or of none. */
async function readDatabase(orm: MikroORM): Promise<DatabaseSide> {
  const connection = orm.em.getConnection()
  const id = (await hasTable(orm, 'server_settings')) ? await readSettingIn(orm.em.fork(), storeId) : null
  if (!(await hasTable(orm, 'package_versions'))) return { id, archives: [] }
  const some = (order: 'asc' | 'desc'): Promise<{ sha256: string }[]> =>
    connection.execute(`select archive_sha256 as sha256 from package_versions order by id ${order} limit ${sampleSize}`)
  const rows = [...(await some('asc')), ...(await some('desc'))]
  return { id, archives: [...new Set(rows.map(({ sha256 }) => sha256))] }
}
