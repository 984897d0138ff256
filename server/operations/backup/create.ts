import { join } from 'node:path'
import { conflict } from '../../errors.ts'
import { type HeldRemovals, holdRemovals } from '../../platform/store/hold.ts'
import { version } from '../../platform/config/version.ts'
import { type BlobSource, type CopiedBlobs, copyBlobs } from './copy-blobs.ts'
import { listSnapshots, type Manifest, type Snapshot, writeManifest } from './manifest.ts'
import { parseBlobList } from './named-blobs.ts'
import { linesOf } from './place/files.ts'
import { claimPlace } from './owner.ts'
import { blobList, manifestKey, snapshotId, snapshotKey } from './place/layout.ts'
import { type DataConfig, describeOverlap } from './place/apart.ts'
import { openPlace } from './place/open.ts'
import type { BackupPlace } from './place/place.ts'
import { type SnapshotConfig, takeSnapshot } from './snapshot.ts'

/** Everything that is needed to create a backup: the database, the blob stores, the clock and the configuration. */
export type BackupSource = BlobSource & { config: SnapshotConfig & DataConfig }
/** A complete backup, and the number of blobs that were newly copied for it. */
export type CompletedBackup = { manifest: Manifest; copied: number }

/** Options of a backup: a signal that cancels it, and a progress callback. */
type BackupOptions = { signal?: AbortSignal; report?: Report }
/** Progress callback. Receives the number of blobs processed so far. */
export type Report = (done: number) => void

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
    const snapshot = await takeSnapshot(source.config, draft.folder, signal).catch(explainDiskFull(draft.folder))
    const list = parseBlobList(linesOf(join(draft.folder, blobList)), blobList)
    const blobs = await copyBlobs(source, place, list, { signal, report }).catch(explainDiskFull(place.name))
    await draft.keep(snapshot.files, signal)
    await place.flush()
    await hold.confirm()
    // Two servers can pass the first check at the same time. Check again: the location belongs to the server that claimed it last.
    await claimPlace(source.em, place)
    const times = { startedAt: startedAt.toISOString(), finishedAt: source.now().toISOString() }
    const manifest = describe(source, id, snapshot, blobs, times)
    await writeManifest(place, manifest)
    return { manifest, copied: blobs.copied }
  } catch (error) {
    // If the backup location is unreachable, this removal fails as well. The next backup then removes the incomplete files.
    await remove(place, id).catch(() => {})
    signal.throwIfAborted()
    throw error
  }
}

function describe(
  { config }: BackupSource,
  id: string,
  snapshot: Snapshot,
  { count, bytes, lacking }: CopiedBlobs,
  times: Pick<Manifest, 'startedAt' | 'finishedAt'>,
): Manifest {
  return { format: 1, id, version, database: config.DB_BACKEND, ...snapshot, ...times, blobs: { count, bytes, lacking } }
}

/** Names the full disk in the error. The errors of the system and of SQLite do not, and the disk of the server may still have free space. */
const explainDiskFull = (folder: string) => (error: unknown) => {
  if (!['ENOSPC', 'EDQUOT', 'SQLITE_FULL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  throw conflict(`No space left at ${folder}. No backup was created. Free up space there, or use another location.`)
}

/** Deletes an incomplete backup. The manifest is deleted first: it may have been written even if the write reported an error. */
async function remove(place: BackupPlace, id: string): Promise<void> {
  await place.remove(manifestKey(id))
  await place.remove(snapshotKey(id))
}

/** Removes the leftovers of interrupted backups. */
async function clear(place: BackupPlace): Promise<void> {
  await place.clear()
  for (const { id, isWhole } of await listSnapshots(place)) if (!isWhole) await place.remove(snapshotKey(id))
}
