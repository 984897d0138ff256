import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { migrationNames } from '../../db/migration-files.ts'
import { conflict } from '../../errors.ts'
import { restoringMark } from '../../store/identity.ts'
import { nameOfStore, openStores, type Stores } from '../../store/open.ts'
import { damaged } from '../damaged.ts'
import { hashFile } from '../files.ts'
import { blobList, type Places, placesIn } from '../layout.ts'
import { findManifest, type Manifest } from '../manifest.ts'
import { readBlobList } from '../named-blobs.ts'
import { restoreBlobs } from './blobs.ts'
import { occupied, type Target } from './target.ts'

/**
 * Restores a backup into an empty database and an empty store: the blobs first, then the database at once, then the two are tied together.
 * Until the end the store bears a mark, and no server starts with it. What is killed is run again, from the beginning.
 * @throws ApiError NotFound without a backup; Conflict when the place is not empty, the backup is of another kind of database or of a newer
 * version, or something in it is damaged.
 */
export async function restoreBackup(config: Config, folder: string, id?: string): Promise<{ manifest: Manifest; blobs: number }> {
  const places = placesIn(resolve(folder))
  const manifest = await findManifest(places, id)
  requireFit(config, manifest)
  await requireList(places, manifest)
  const target = await openTarget(config, manifest, places.snapshot(manifest.id))
  try {
    const stores = await openStores(config)
    const [marked, mark] = [await stores.archives.identity(), `${restoringMark}${manifest.id}`]
    const occupant = await target.occupiedBy()
    // The database came last, so everything else is there.
    if (!(marked === mark && occupant === manifest.storeId)) {
      if (occupant !== null) throw occupied()
      // What an interrupted restore brought, of this backup or another one, is named by nothing.
      if (!marked?.startsWith(restoringMark)) await requireEmpty(config, stores)
      await stores.archives.identify(mark, { replace: true })
      await target.fill(() => fillStores(places, manifest, stores))
    }
    await target.upgrade()
    await stores.archives.identify(manifest.storeId, { replace: true })
    return { manifest, blobs: manifest.blobs.count - manifest.blobs.lacking.length }
  } finally {
    await target.close()
  }
}

/** What is left out of the list would not be missed. */
async function requireList(places: Places, { id, files }: Manifest): Promise<void> {
  const path = join(places.snapshot(id), blobList)
  const expected = files.find(({ name }) => name === blobList)
  if (!existsSync(path) || (await hashFile(path)).sha256 !== expected?.sha256) throw damaged(path)
}

async function fillStores(places: Places, manifest: Manifest, stores: Stores): Promise<void> {
  const lacking = new Set(manifest.blobs.lacking.map(({ sha256 }) => sha256))
  await restoreBlobs(places, readBlobList(join(places.snapshot(manifest.id), blobList)), { stores, lacking })
}

function requireFit({ DB_BACKEND }: Config, { database, migrations, version }: Manifest): void {
  if (database !== DB_BACKEND)
    throw conflict(
      `The backup is of a server on ${database}; DB_BACKEND is ${DB_BACKEND}. Restore it on ${database}, and move the database from there.`,
    )
  const known = new Set(migrationNames(DB_BACKEND))
  if (migrations.some((name) => !known.has(name)))
    throw conflict(`The backup was made by Snug ${version}, which is newer than this version. Restore it with that version or a later one.`)
}

async function openTarget(config: Config, manifest: Manifest, folder: string): Promise<Target> {
  if (config.DB_BACKEND === 'sqlite') return (await import('./sqlite.ts')).openSqliteTarget(config, manifest, folder)
  return (await import('./postgres.ts')).openPostgresTarget(config, manifest, folder)
}

async function requireEmpty(config: Config, { archives, docs }: Stores): Promise<void> {
  for (const [store, name] of [
    [archives, nameOfStore(config)],
    [docs, config.DOCS_PATH],
  ] as const)
    for await (const _ of store.list())
      throw conflict(`The store ${name} has archives or documentation. A backup is restored into an empty store only: name another one.`)
}
