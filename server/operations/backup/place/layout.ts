import { pathPart, storedAt } from '../../../platform/blobs/names.ts'

/** File name of the SQLite database in a snapshot. */
export const sqliteFile = 'registry.sqlite'
/** File name of the list of blobs that a snapshot needs. */
export const blobList = 'blobs.tsv'
/** File name of a PostgreSQL table in a snapshot, in COPY format. @throws RangeError for a name that could escape the folder. */
export const tableFile = (table: string): string => `${pathPart(table, tableForm)}.copy`
/** Allowed table and file names in a snapshot. They cannot escape the folder. */
export const tableForm = /^[A-Za-z0-9_]+$/
export const fileForm = /^[A-Za-z0-9_]+\.[a-z]+$/

// Layout of a backup location: `snapshots/<id>/` has one database snapshot each, complete if it has a manifest; `blobs/ab/cd/<sha256>` has the
// blobs of all snapshots; `partial/` has unfinished writes; `owner` has the id of the server that the backups belong to.
export const snapshotsKey = 'snapshots/'
export const blobsKey = 'blobs/'
export const partialKey = 'partial/'
export const ownerKey = 'owner'
/** Returns the key prefix of all files of a snapshot. */
export const snapshotKey = (id: string): string => `${snapshotsKey}${pathPart(id, snapshotForm)}/`
export const fileKey = (id: string, name: string): string => `${snapshotKey(id)}${pathPart(name, fileForm)}`
export const manifestKey = (id: string): string => fileKey(id, 'manifest.json')
export const blobKey = (sha256: string): string => `${blobsKey}${storedAt(sha256)}`

/** Returns the id of a snapshot that starts now. Ids sort by time. */
export const snapshotId = (now: Date): string => now.toISOString().replaceAll(/[-:.]/g, '')
/** Returns whether a name is a snapshot id. */
export const isSnapshotId = (name: string): boolean => snapshotForm.test(name)
const snapshotForm = /^\d{8}T\d{9}Z$/
