import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { syncDirectory } from '../blobs/directories.ts'
import { makeFolder } from '../db/private-files.ts'
import { conflict } from '../errors.ts'
import { type HeldRemovals, holdRemovals } from '../store/hold.ts'
import { version } from '../version.ts'
import { type BlobSource, type CopiedBlobs, copyBlobs } from './copy-blobs.ts'
import { blobList, listSnapshots, type Places, placesIn, snapshotId } from './layout.ts'
import { type Manifest, type Snapshot, writeManifest } from './manifest.ts'
import { readBlobList } from './named-blobs.ts'
import { claimPlaces } from './owner.ts'
import { type SnapshotConfig, takeSnapshot } from './snapshot.ts'

/** What a backup is made of. */
export type BackupSource = BlobSource & { config: SnapshotConfig }
/** A backup that is whole, and how many blobs had to be copied for it. */
export type Made = { manifest: Manifest; copied: number }

/** What ends a backup, and who hears how far it is. */
type Conduct = { signal?: AbortSignal; report?: Report }
/** Hears how many blobs of the list were looked after. */
export type Report = (done: number) => void

/**
 * Backs the server up into a folder while it is serving: the database as it is at one moment, then every blob that it names then, then the
 * manifest, without which it does not count. Blobs that an earlier backup in the folder has are not copied again. Deleted bytes stay within
 * reach meanwhile. What is killed leaves nothing that counts, and the next backup clears it away.
 * @throws ApiError Conflict while another backup runs, or when the folder has other files or backups of another server.
 */
export async function createBackup(source: BackupSource, folder: string, { signal, report }: Conduct = {}): Promise<Made> {
  const places = placesIn(resolve(folder))
  await preparePlaces(places)
  const hold = await holdRemovals(source.em, source.now)
  try {
    return await fill(source, places, hold, { signal: AbortSignal.any(signal ? [signal, hold.signal] : [hold.signal]), report })
  } finally {
    await hold.release()
  }
}

async function fill(
  source: BackupSource,
  places: Places,
  hold: HeldRemovals,
  { signal, report }: Conduct & { signal: AbortSignal },
): Promise<Made> {
  const [startedAt, id] = [source.now(), snapshotId(source.now())]
  await claimPlaces(source.em, places)
  await clearPartial(places)
  if (existsSync(places.snapshot(id))) throw conflict(`There is a backup ${id} in ${places.root} already.`)
  makeFolder(places.snapshot(id))
  try {
    const snapshot = await takeSnapshot(source.config, places.snapshot(id), signal)
    const blobs = await copyBlobs(source, places, readBlobList(join(places.snapshot(id), blobList)), { signal, report })
    for (const folder of [places.snapshot(id), places.snapshots, places.root]) await syncDirectory(folder)
    await hold.confirm()
    const times = { startedAt: startedAt.toISOString(), finishedAt: source.now().toISOString() }
    const manifest = describe(source, id, snapshot, blobs, times)
    await writeManifest(places, manifest)
    return { manifest, copied: blobs.copied }
  } catch (error) {
    await rm(places.snapshot(id), { recursive: true, force: true })
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

/**
 * Makes the folders of a place for backups: only a new folder, or one of backups, is written to, since what is half done in it is cleared away.
 * @throws ApiError Conflict for a folder with other files; Error when it cannot be written to.
 */
export async function preparePlaces({ root, snapshots, blobs, partial }: Places): Promise<void> {
  const isOther = existsSync(root) && !existsSync(snapshots) && (await readdir(root)).length > 0
  if (isOther) throw conflict(`${root} has other files. Name an empty folder, or one with backups.`)
  for (const folder of [root, snapshots, blobs, partial]) makeFolder(folder)
}

/** Clears away what killed backups left. */
async function clearPartial(places: Places): Promise<void> {
  for (const name of await readdir(places.partial)) await rm(join(places.partial, name), { force: true })
  for (const { id, isWhole } of await listSnapshots(places)) if (!isWhole) await rm(places.snapshot(id), { recursive: true, force: true })
}
