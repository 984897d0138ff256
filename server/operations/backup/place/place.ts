import type { Readable } from 'node:stream'
import { hashOf } from '../../../platform/blobs/measured.ts'
import type { Measured } from './files.ts'
import { pathPart, storedAt } from '../../../platform/blobs/store.ts'

/** Receives the progress of a step of a command. `bytes` is the size of what is done. */
export type Report = (step: string, progress: { done: number; total: number; unit: string; bytes?: number }) => void

/** A file in a backup location. `bytes` is null for links, folders and devices. `read` returns at most `bytes` bytes, even if the file grows. */
export type Found = { bytes: number | null; read: () => Promise<Readable> }
/** The hash and size of a blob. */
export type BlobFacts = Measured
export type NamedFile = Measured & { name: string }

/** A local folder in which a database snapshot is created. */
export type Draft = AsyncDisposable & {
  folder: string
  /** Moves the finished snapshot files to the backup location. */
  keep: (files: NamedFile[], signal: AbortSignal) => Promise<void>
}

/** The files of a snapshot, copied to this machine and available until disposed. */
export type SnapshotFiles = AsyncDisposable & {
  /** Returns the local path of a file, for readers that cannot use a stream. Only open a file whose hash has been verified. */
  path: (name: string) => string
  /** Returns the name of a snapshot file for messages. */
  nameOf: (name: string) => string
  /** Reads a file. @throws ApiError Conflict unless it is a regular file of the size given in the manifest. */
  read: (name: string) => AsyncGenerator<Buffer>
  /** Returns the SHA-256 of a file: null when it is missing, '' when it is not a regular file of the size given in the manifest. */
  hash: (name: string) => Promise<string | null>
}

/** A location that stores backups: a folder or a bucket. Its contents are addressed by keys. */
export type BackupPlace = {
  /** Name of the backup location for messages. */
  name: string
  nameOf: (key: string) => string
  /** Checks that the location is usable, without leaving changes. @throws ApiError Conflict when it has other files; Error when it is not usable. */
  check: () => Promise<void>
  /** Like `check`, but does not write into a folder, which may be full or not exist yet. */
  inspect: () => Promise<void>
  /** Checks the location like `check`, and creates the folders that later writes need. */
  prepare: () => Promise<void>
  /** Removes unfinished writes of interrupted backups. Only the owner may call it. */
  clear: () => Promise<void>
  /** Returns the id of the server that the backups belong to; null if the location has no owner. */
  owner: () => Promise<string | null>
  /** Makes a server the owner of a location without one. Returns the resulting owner. */
  claim: (id: string) => Promise<string>
  /** Lists the names of all snapshots, complete or not. */
  snapshots: () => Promise<string[]>
  /** Lists all blobs in the location, sorted by hash. */
  blobs: () => AsyncGenerator<BlobFacts>
  /** Returns a function that tests whether a blob is stored. It must be called in ascending order of hashes. */
  inventory: () => (blob: BlobFacts) => Promise<boolean>
  find: (key: string) => Promise<Found | null>
  /** Writes a file atomically. @throws DamagedBytes when the data does not match `expected`; rethrows errors of the source. */
  put: (key: string, source: Readable, expected: Measured) => Promise<void>
  /** Removes a file, or everything below a key that ends in a slash. */
  remove: (key: string) => Promise<void>
  /** Makes all completed writes durable. Must be called before the writes are relied on. */
  flush: () => Promise<void>
  draft: (id: string) => Promise<Draft>
  fetchFiles: (id: string, files: readonly NamedFile[]) => Promise<SnapshotFiles>
}

/**
 * Returns the SHA-256 of a file in a backup location: null when it is missing, '' when it is not a regular file of this size (it is not read then).
 */
export async function hashIn(place: Pick<BackupPlace, 'find'>, key: string, bytes: number | undefined): Promise<string | null> {
  const found = await place.find(key)
  if (!found) return null
  return found.bytes === bytes ? hashOf(await found.read()) : ''
}

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
