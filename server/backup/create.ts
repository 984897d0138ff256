import { join } from 'node:path'
import { conflict } from '../errors.ts'
import { type HeldRemovals, holdRemovals } from '../store/hold.ts'
import { version } from '../version.ts'
import { type BlobSource, type CopiedBlobs, copyBlobs } from './copy-blobs.ts'
import { listSnapshots, type Manifest, type Snapshot, writeManifest } from './manifest.ts'
import { parseBlobList } from './named-blobs.ts'
import { linesOf } from './place/files.ts'
import { claimPlace } from './owner.ts'
import { blobList, manifestKey, snapshotId, snapshotKey } from './place/layout.ts'
import { type DataConfig, dataAround } from './place/apart.ts'
import { openPlace } from './place/open.ts'
import type { BackupPlace } from './place/place.ts'
import { type SnapshotConfig, takeSnapshot } from './snapshot.ts'

/** What a backup is made of. */
export type BackupSource = BlobSource & { config: SnapshotConfig & DataConfig }
/** A backup that is whole, and how many blobs had to be copied for it. */
export type Made = { manifest: Manifest; copied: number }

/** What ends a backup, and who hears how far it is. */
type Conduct = { signal?: AbortSignal; report?: Report }
/** Hears how many blobs of the list were looked after. */
export type Report = (done: number) => void

/**
 * Backs the server up to a folder or bucket while it is serving: the database as it is at one moment, then every blob that it names then, then
 * the manifest, without which it does not count. Blobs that an earlier backup there has are not copied again. Deleted bytes stay within reach
 * meanwhile. What is killed leaves nothing that counts, and the next backup clears it away.
 * @throws ApiError Conflict while another backup runs, or when the place is in the data, has other files or backups of another server.
 */
export async function createBackup(source: BackupSource, address: string, { signal, report }: Conduct = {}): Promise<Made> {
  const place = await openPlace(source.config, address)
  const within = dataAround(source.config, address)
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
  { signal, report }: Conduct & { signal: AbortSignal },
): Promise<Made> {
  const [startedAt, id] = [source.now(), snapshotId(source.now())]
  await claimPlace(source.em, place)
  await clear(place)
  if ((await place.snapshots()).includes(id)) throw conflict(`There is a backup ${id} in ${place.name} already.`)
  await using draft = await place.draft(id)
  try {
    const snapshot = await takeSnapshot(source.config, draft.folder, signal).catch(withoutRoom(draft.folder))
    const list = parseBlobList(linesOf(join(draft.folder, blobList)), blobList)
    const blobs = await copyBlobs(source, place, list, { signal, report }).catch(withoutRoom(place.name))
    await draft.keep(snapshot.files, signal)
    await place.settle()
    await hold.confirm()
    // Where two servers can be the first at once, the later one is its owner.
    await claimPlace(source.em, place)
    const times = { startedAt: startedAt.toISOString(), finishedAt: source.now().toISOString() }
    const manifest = describe(source, id, snapshot, blobs, times)
    await writeManifest(place, manifest)
    return { manifest, copied: blobs.copied }
  } catch (error) {
    // What stays when the place is out of reach is cleared away by the next backup.
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

/** Says which disk is full: the system and SQLite do not, and the server's own may have room. */
const withoutRoom = (folder: string) => (error: unknown) => {
  if (!['ENOSPC', 'EDQUOT', 'SQLITE_FULL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  throw conflict(`There is no room left at ${folder}, so no backup was made. Make room there, or name another place.`)
}

/** The manifest goes first: it may have been written although no answer came, and is not to stand for what is gone. */
async function remove(place: BackupPlace, id: string): Promise<void> {
  await place.remove(manifestKey(id))
  await place.remove(snapshotKey(id))
}

/** Clears away what killed backups left. */
async function clear(place: BackupPlace): Promise<void> {
  await place.clear()
  for (const { id, isWhole } of await listSnapshots(place)) if (!isWhole) await place.remove(snapshotKey(id))
}
