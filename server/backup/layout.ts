import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** The copy of an SQLite database in its snapshot. */
export const sqliteFile = 'registry.sqlite'
/** The list of blobs that a snapshot needs. */
export const blobList = 'blobs.tsv'
/** The rows of a PostgreSQL table in its snapshot, as COPY writes them. */
export const tableFile = (table: string): string => `${table}.copy`

/**
 * Where what is in the folder of backups: a snapshot of the database each in `snapshots/<id>/`, of which those with a manifest are whole; the
 * blobs of all of them in `blobs/ab/cd/<sha256>`; what is being written in `partial/`; the
 * id of the server that they are of in `owner`.
 */
export function placesIn(root: string) {
  const snapshots = join(root, 'snapshots')
  const snapshot = (id: string) => join(snapshots, id)
  return {
    root,
    snapshots,
    blobs: join(root, 'blobs'),
    partial: join(root, 'partial'),
    owner: join(root, 'owner'),
    snapshot,
    manifest: (id: string) => join(snapshot(id), 'manifest.json'),
    blob: (sha256: string) => join(root, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256),
  }
}
export type Places = ReturnType<typeof placesIn>

/** The id of a snapshot that begins now: ids made later sort later. */
export const snapshotId = (now: Date): string => now.toISOString().replaceAll(/[-:.]/g, '')

/** Every snapshot in a folder of backups, the oldest first, and whether it has its manifest. */
export async function listSnapshots(places: Places): Promise<{ id: string; isWhole: boolean }[]> {
  if (!existsSync(places.snapshots)) return []
  const ids = (await readdir(places.snapshots)).filter((name) => /^\d{8}T\d{9}Z$/.test(name)).toSorted()
  return ids.map((id) => ({ id, isWhole: existsSync(places.manifest(id)) }))
}
