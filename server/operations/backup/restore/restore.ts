import { readBucketAddress } from '../../../platform/config/forms.ts'
import type { Config } from '../../../platform/config/config.ts'
import { migrationNames } from '../../../platform/db/schema/migration-files.ts'
import { conflict } from '../../../errors.ts'
import { restoringPrefix } from '../../../platform/store/identity.ts'
import { nameOfStore, openStores, type Stores } from '../../../platform/store/open.ts'
import { damaged, linesIn } from '../place/files.ts'
import { findManifest, type Manifest } from '../manifest.ts'
import { forEachConcurrently, storeBytes } from '../../../platform/store/transfer.ts'
import { type NamedBlob, parseBlobList } from '../blob-lists.ts'
import { type BackupPlace, blobKey, blobList, type Report, type SnapshotFiles } from '../place/place.ts'
import { openPlace } from '../place/open.ts'
import { occupied, requireDiskSpace, type Target } from './target.ts'

/**
 * Restores a backup into an empty database and an empty store: the blobs first, then the database atomically, then the store is linked to the
 * database. Until then the store is marked as unfinished and servers refuse to start with it. An interrupted restore is started again from the
 * beginning.
 * @throws ApiError NotFound without a backup; Conflict when the target is not empty, when the backup is for another kind of database or from a
 * newer version, or when the backup is corrupt.
 */
export async function restoreBackup(
  config: Config,
  address: string,
  id?: string,
  report?: Report,
): Promise<{ manifest: Manifest; blobs: number }> {
  const place = await openPlace(config, address)
  const manifest = await findManifest(place, id)
  requireFit(config, manifest)
  const target = await openTarget(config, manifest)
  try {
    const stores = await openStores(config)
    const [marked, mark] = [await stores.archives.identity(), `${restoringPrefix}${manifest.id}`]
    const occupant = await target.occupiedBy()
    // If the database is already restored, so are the blobs: the database is written last.
    if (!(marked === mark && occupant === manifest.storeId)) {
      if (occupant !== null) throw occupied()
      // After an interrupted restore the store may have leftover blobs of any backup. Nothing refers to them, so the store counts as empty.
      if (!marked?.startsWith(restoringPrefix)) await requireEmpty(config, stores)
      await requireDiskSpace(config, manifest, { stores, isRemote: readBucketAddress(address) !== null })
      report?.('Reading the database of the backup', { done: 0, total: manifest.tables.length, unit: 'tables' })
      // Fetched only after the checks above, since downloading from a bucket can take long.
      await using files = await place.fetchFiles(manifest.id, manifest.files)
      await requireList(manifest, files)
      await stores.archives.identify(mark, { replace: true })
      await target.fill(files, () => fillStores({ place, manifest, files }, stores, report))
    }
    await target.upgrade()
    await stores.archives.identify(manifest.storeId, { replace: true })
    return { manifest, blobs: manifest.blobs.count - manifest.blobs.lacking.length }
  } finally {
    await target.close()
  }
}

/** Verifies the hash of the blob list. Otherwise a truncated list would go unnoticed. */
async function requireList(manifest: Manifest, files: SnapshotFiles): Promise<void> {
  const expected = manifest.files.find(({ name }) => name === blobList)
  if (!expected || (await files.hash(blobList)) !== expected.sha256) throw damaged(files.nameOf(blobList))
}

type Backup = { place: BackupPlace; manifest: Manifest; files: SnapshotFiles }

/**
 * Copies every blob of a backup into its store and verifies it, except for blobs that the backup lacks.
 * @throws ApiError Conflict when a blob is missing or corrupt.
 */
async function fillStores({ place, manifest, files }: Backup, stores: Stores, report?: Report): Promise<void> {
  const [total, progress] = [manifest.blobs.count, { done: 0, bytes: 0 }]
  const lacking = new Set(manifest.blobs.lacking.map(({ sha256 }) => sha256))
  await forEachConcurrently(listWithin(manifest, files), async ({ sha256, bytes, store }) => {
    progress.done++
    progress.bytes += bytes
    report?.('Restoring archives', { ...progress, total, unit: 'files' })
    if (lacking.has(sha256)) return
    const path = place.nameOf(blobKey(sha256))
    const found = await place.find(blobKey(sha256))
    if (!found) throw conflict(`The backup is incomplete: ${path} is missing. Nothing was restored. Restore another backup.`)
    // Comparing sizes first avoids reading pipes and writing more than the expected size.
    if (found.bytes !== bytes) throw damaged(path)
    if ((await storeBytes(stores[store], sha256, await found.read(), bytes)) === null) throw damaged(path)
  })
}

/** Reads the blob list. @throws ApiError Conflict when it has more entries or bytes than the manifest. */
async function* listWithin({ blobs }: Manifest, files: SnapshotFiles): AsyncGenerator<NamedBlob> {
  const name = files.nameOf(blobList)
  let [count, bytes] = [0, 0]
  for await (const blob of parseBlobList(linesIn(files.read(blobList)), name)) {
    count++
    bytes += blob.bytes
    if (count > blobs.count || bytes > blobs.bytes) throw damaged(name)
    yield blob
  }
}

function requireFit({ DB_BACKEND }: Config, { database, migrations, version }: Manifest): void {
  if (database !== DB_BACKEND) {
    const onward = database === 'sqlite' ? ', then move it to PostgreSQL' : ': it cannot be converted to SQLite'
    throw conflict(`The backup is for ${database}, but DB_BACKEND is ${DB_BACKEND}. Restore it on ${database}${onward}.`)
  }
  const known = new Set(migrationNames(DB_BACKEND))
  if (migrations.some((name) => !known.has(name)))
    throw conflict(`The backup was made by Snug ${version}, which is newer than this version. Restore it with that version or a later one.`)
}

async function openTarget(config: Config, manifest: Manifest): Promise<Target> {
  if (config.DB_BACKEND === 'sqlite') return (await import('./sqlite.ts')).openSqliteTarget(config, manifest)
  return (await import('./postgres.ts')).openPostgresTarget(config, manifest)
}

async function requireEmpty(config: Config, { archives, docs }: Stores): Promise<void> {
  for (const [store, name] of [
    [archives, nameOfStore(config)],
    [docs, config.DOCS_PATH],
  ] as const)
    for await (const _ of store.list())
      throw conflict(
        `The store ${name} already contains archives or documentation. A backup can only be restored into an empty store. Use another one.`,
      )
}
