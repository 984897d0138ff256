import { join } from 'node:path'
import { conflict } from '../../errors.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Stores } from '../../platform/store/open.ts'
import { type HeldRemovals, holdRemovals } from '../../platform/store/hold.ts'
import { version } from '../../platform/config/version.ts'
import { type FaultyBlob, listSnapshots, type Manifest, type Snapshot, writeManifest } from './manifest.ts'
import { faultOf, forEachConcurrently } from '../../platform/store/transfer.ts'
import { type NamedBlob, parseBlobList } from './blob-lists.ts'
import { linesOf } from './place/files.ts'
import { claimPlace } from './owner.ts'
import { type BackupPlace, type Report, blobKey, blobList, manifestKey, snapshotId, snapshotKey } from './place/place.ts'
import { type DataConfig, describeOverlap } from './place/settings.ts'
import { openPlace } from './place/open.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { addAbortSignal } from 'node:stream'
import type { BlobStore } from '../../platform/blobs/store.ts'
import type { Config } from '../../platform/config/config.ts'

/** Everything that is needed to create a backup: the database, the blob stores, the clock and the configuration. */
export type BackupSource = BlobSource & { config: SnapshotConfig & DataConfig }
/** A complete backup, and the number of blobs that were newly copied for it. */
export type CompletedBackup = { manifest: Manifest; copied: number }

/** A signal that cancels the backup, and a callback that receives the progress. */
type BackupOptions = { signal?: AbortSignal; report?: Report | undefined }

/**
 * Creates a backup in a folder or bucket while the server is running: first a consistent snapshot of the database, then every blob that the
 * snapshot refers to, then the manifest. A backup without a manifest is incomplete and ignored. Blobs that earlier backups already stored there
 * are not copied again. Deleted blobs remain restorable until the backup ends. The next backup removes the leftovers of an interrupted one.
 * @throws ApiError Conflict while another backup runs, or when the location is inside the data folders, contains other files, or contains
 * backups of another server.
 */
export async function createBackup(
  source: BackupSource,
  address: string,
  { signal, report }: BackupOptions = {},
): Promise<CompletedBackup> {
  const place = await openPlace(source.config, address)
  const within = describeOverlap(source.config, address)
  if (within !== null) throw conflict(`${place.name} ${within}. Name a place apart from the data.`)
  await place.prepare()
  const hold = await holdRemovals(source.em, source.now)
  try {
    return await fill(source, place, hold, { signal: AbortSignal.any(signal ? [signal, hold.signal] : [hold.signal]), report })
  } finally {
    await hold.release()
  }
}

async function fill(
  source: BackupSource,
  place: BackupPlace,
  hold: HeldRemovals,
  { signal, report }: BackupOptions & { signal: AbortSignal },
): Promise<CompletedBackup> {
  const [startedAt, id] = [source.now(), snapshotId(source.now())]
  await claimPlace(source.em, place)
  await clear(place)
  if ((await place.snapshots()).includes(id)) throw conflict(`Backup ${id} already exists in ${place.name}.`)
  await using draft = await place.draft(id)
  try {
    report?.('Copying the database', { done: 0, total: 1, unit: 'databases' })
    const snapshot = await takeSnapshot(source.config, draft.folder, signal).catch(explainDiskFull(draft.folder))
    let total = 0
    for await (const _ of linesOf(join(draft.folder, blobList))) total++
    const list = parseBlobList(linesOf(join(draft.folder, blobList)), blobList)
    const blobs = await copyBlobs(source, place, list, { signal, report, total }).catch(explainDiskFull(place.name))
    await draft.keep(snapshot.files, signal)
    await place.flush()
    await hold.confirm()
    // Two servers can pass the first check at the same time. Check again: the location belongs to the server that claimed it last.
    await claimPlace(source.em, place)
    const times = { startedAt: startedAt.toISOString(), finishedAt: source.now().toISOString() }
    const { copied, ...listed } = blobs
    const manifest: Manifest = { format: 1, id, version, database: source.config.DB_BACKEND, ...snapshot, ...times, blobs: listed }
    await writeManifest(place, manifest)
    return { manifest, copied }
  } catch (error) {
    // If the backup location is unreachable, the removal fails as well. The next backup then removes the incomplete files. The manifest is removed
    // first: it may have been written even if the write reported an error.
    await place
      .remove(manifestKey(id))
      .then(() => place.remove(snapshotKey(id)))
      .catch(() => {})
    signal.throwIfAborted()
    throw error
  }
}

/** Names the full disk in the error. The errors of the system and of SQLite do not, and the disk of the server may still have free space. */
const explainDiskFull = (folder: string) => (error: unknown) => {
  if (!['ENOSPC', 'EDQUOT', 'SQLITE_FULL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  throw conflict(`No space left at ${folder}. No backup was created. Free up space there, or use another location.`)
}

/** Removes the leftovers of interrupted backups. */
async function clear(place: BackupPlace): Promise<void> {
  await place.clear()
  for (const { id, isWhole } of await listSnapshots(place)) if (!isWhole) await place.remove(snapshotKey(id))
}

/** The database and the stores that blobs are copied from. */
type BlobSource = { em: EntityManager; stores: Stores; now: () => Date }
/** Result of a copy: the number and total size of the listed blobs, how many were newly copied, and which are missing or corrupt on the server. */
type CopiedBlobs = { count: number; bytes: number; copied: number; lacking: FaultyBlob[] }

/**
 * Copies every listed blob that the backup location does not have yet. The list must be sorted by hash. A blob whose version is deleted during the
 * backup is restored from the removed blobs, copied, and removed again. Missing and corrupt blobs do not stop the copy.
 */
async function copyBlobs(
  source: BlobSource,
  place: BackupPlace,
  list: AsyncIterable<NamedBlob>,
  { signal, report, total }: BackupOptions & { signal: AbortSignal; total: number },
): Promise<CopiedBlobs> {
  const done: CopiedBlobs = { count: 0, bytes: 0, copied: 0, lacking: [] }
  const isThere = place.inventory()
  await forEachConcurrently(list, async (blob) => {
    signal.throwIfAborted()
    done.count++
    done.bytes += blob.bytes
    report?.('Copying archives', { done: done.count, total, unit: 'files', bytes: done.bytes })
    if (await isThere(blob)) return
    const problem = await copyOne(source, place, blob, signal)
    if (problem) return void done.lacking.push({ sha256: blob.sha256, problem })
    done.copied++
  })
  return done
}

async function copyOne(
  source: BlobSource,
  place: BackupPlace,
  blob: NamedBlob,
  signal: AbortSignal,
): Promise<FaultyBlob['problem'] | null> {
  const blobs = source.stores[blob.store]
  const copy = async () => {
    const bytes = addAbortSignal(signal, await blobs.open(blob.sha256))
    await place.put(blobKey(blob.sha256), bytes, blob)
  }
  try {
    await copy().catch(async (error: unknown) => {
      if (!isMissing(error) || !(await blobs.restore(blob.sha256))) throw error
      try {
        await copy()
      } finally {
        await removeAgain(source, blobs, blob.sha256)
      }
    })
    return null
  } catch (error) {
    return faultOf(error)
  }
}

/** Removes a blob that was restored only for the backup, unless a version refers to it again. */
async function removeAgain({ em, now }: BlobSource, blobs: BlobStore, sha256: string): Promise<void> {
  const named = await readRows(
    em,
    'select 1 from package_versions where archive_sha256 = ? union all select 1 from version_docs where sha256 = ?',
    [sha256, sha256],
  )
  if (named.length === 0) await blobs.remove(sha256, { at: now() })
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** The settings that are needed to take a database snapshot. */
export type SnapshotConfig = Pick<Config, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/**
 * Copies the database into a folder at one point in time while it is in use, along with the list of blobs that it refers to.
 *
 * Each kind of database has its own format, and `move-database` copies rows without a snapshot. A single format of rows would be slower for SQLite:
 * its backup API copies pages including indexes, and a restore only renames the verified file, while rows must be inserted and indexed again.
 * PostgreSQL has no file to copy, so its rows are copied with COPY. A move must continue after an interruption, compare every row with the
 * locked source, and need no disk space for a copy.
 * @throws Error when the database is unreachable or the folder is not writable; AbortError once `signal` is aborted.
 */
async function takeSnapshot(config: SnapshotConfig, folder: string, signal: AbortSignal): Promise<Snapshot> {
  if (config.DB_BACKEND === 'sqlite') return (await import('./sqlite.ts')).snapshotSqlite(config.SQLITE_PATH, folder, signal)
  return (await import('./postgres-snapshot.ts')).snapshotPostgres(config.POSTGRES_URL ?? '', folder, signal)
}
