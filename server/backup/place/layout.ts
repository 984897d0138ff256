import { storedAt } from '../../blobs/names.ts'
import { pathPart } from '../../blobs/path-part.ts'

/** The copy of an SQLite database in its snapshot. */
export const sqliteFile = 'registry.sqlite'
/** The list of blobs that a snapshot needs. */
export const blobList = 'blobs.tsv'
/** The rows of a PostgreSQL table in its snapshot, as COPY writes them. @throws RangeError for a name that could lead elsewhere. */
export const tableFile = (table: string): string => `${pathPart(table, tableForm)}.copy`
/** Names of tables and of files in a snapshot: nothing leads out of it. */
export const tableForm = /^[A-Za-z0-9_]+$/
export const fileForm = /^[A-Za-z0-9_]+\.[a-z]+$/

// Where what is in a place: a snapshot of the database each in `snapshots/<id>/`, of which those with a manifest are whole; the blobs of all
// of them in `blobs/ab/cd/<sha256>`; what is being written in `partial/`; the id of the server that they are of in `owner`.
export const snapshotsKey = 'snapshots/'
export const blobsKey = 'blobs/'
export const partialKey = 'partial/'
export const ownerKey = 'owner'
/** Everything of a snapshot. */
export const snapshotKey = (id: string): string => `${snapshotsKey}${pathPart(id, snapshotForm)}/`
export const fileKey = (id: string, name: string): string => `${snapshotKey(id)}${pathPart(name, fileForm)}`
export const manifestKey = (id: string): string => fileKey(id, 'manifest.json')
export const blobKey = (sha256: string): string => `${blobsKey}${storedAt(sha256)}`

/** The id of a snapshot that begins now: ids made later sort later. */
export const snapshotId = (now: Date): string => now.toISOString().replaceAll(/[-:.]/g, '')
/** Whether a name is that of a snapshot. */
export const isSnapshotId = (name: string): boolean => snapshotForm.test(name)
const snapshotForm = /^\d{8}T\d{9}Z$/
