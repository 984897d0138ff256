/** The copy of an SQLite database in its snapshot. */
export const sqliteFile = 'registry.sqlite'
/** The list of blobs that a snapshot needs. */
export const blobList = 'blobs.tsv'
/** The rows of a PostgreSQL table in its snapshot, as COPY writes them. */
export const tableFile = (table: string): string => `${table}.copy`

// Where what is in a place: a snapshot of the database each in `snapshots/<id>/`, of which those with a manifest are whole; the blobs of all
// of them in `blobs/ab/cd/<sha256>`; what is being written in `partial/`; the id of the server that they are of in `owner`.
export const snapshotsKey = 'snapshots/'
export const blobsKey = 'blobs/'
export const partialKey = 'partial/'
export const ownerKey = 'owner'
/** Everything of a snapshot. */
export const snapshotKey = (id: string): string => `${snapshotsKey}${id}/`
export const fileKey = (id: string, name: string): string => `${snapshotKey(id)}${name}`
export const manifestKey = (id: string): string => fileKey(id, 'manifest.json')
export const blobKey = (sha256: string): string => `${blobsKey}${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`

/** The id of a snapshot that begins now: ids made later sort later. */
export const snapshotId = (now: Date): string => now.toISOString().replaceAll(/[-:.]/g, '')
/** Whether a name is that of a snapshot. */
export const isSnapshotId = (name: string): boolean => /^\d{8}T\d{9}Z$/.test(name)
