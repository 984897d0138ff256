import type { Readable } from 'node:stream'
import { hashOf } from '../../blobs/measured.ts'
import type { Measured } from './files.ts'

/** A file in a place; `bytes` is null for a link, a folder or a device. `read` gives at most so many bytes, even if the file grows. */
export type Found = { bytes: number | null; read: () => Promise<Readable> }
/** A blob by its hash, and how long it is. */
export type BlobFacts = Measured
/** A file of a snapshot. */
export type NamedFile = Measured & { name: string }

/** A folder on this machine in which a snapshot is made. */
export type Draft = AsyncDisposable & {
  folder: string
  /** Brings what was made to its place. */
  keep: (files: NamedFile[], signal: AbortSignal) => Promise<void>
}

/** The files of a snapshot, on this machine for as long as they are needed. */
export type SnapshotFiles = AsyncDisposable & {
  /** Where a file is, for what cannot read a stream. Only a file whose hash was compared may be opened. */
  path: (name: string) => string
  /** How messages name a file. */
  nameOf: (name: string) => string
  /** Reads a file. @throws ApiError Conflict unless it is a plain file of the size that the manifest says. */
  read: (name: string) => AsyncGenerator<Buffer>
  /** Returns the SHA-256 of a file: null when it is missing, '' when it is not a plain file of the size that the manifest says. */
  hash: (name: string) => Promise<string | null>
}

/** Where backups are kept: a folder, or a bucket. What is in it is named by keys (see layout.ts). */
export type BackupPlace = {
  /** How messages name it, and what is in it. */
  name: string
  nameOf: (key: string) => string
  /** Tries whether it can be used, and leaves it as it was. @throws ApiError Conflict when it has other files; Error when it cannot be used. */
  check: () => Promise<void>
  /** The same without writing into a folder: it may be full, or not be there yet. */
  inspect: () => Promise<void>
  /** The same, and makes what has to be there before anything is written. */
  prepare: () => Promise<void>
  /** Removes what was being written when a backup was killed. Only the owner may. */
  clear: () => Promise<void>
  /** The id of the server whose backups these are; null when none has said so. */
  owner: () => Promise<string | null>
  /** Makes a server the owner of a place without one; gives the owner that it has then. */
  claim: (id: string) => Promise<string>
  /** The names of all snapshots, whole or not. */
  snapshots: () => Promise<string[]>
  /** All blobs, by their hashes in order. */
  blobs: () => AsyncGenerator<BlobFacts>
  /** Whether a blob is there; asked in the order of hashes. */
  inventory: () => (blob: BlobFacts) => Promise<boolean>
  find: (key: string) => Promise<Found | null>
  /** Writes a file, whole or not at all. @throws DamagedBytes when other bytes come than expected, and what the source throws. */
  put: (key: string, source: Readable, expected: Measured) => Promise<void>
  /** Removes a file, or whatever is below a key that ends in a slash. */
  remove: (key: string) => Promise<void>
  /** Makes what was written last. */
  settle: () => Promise<void>
  draft: (id: string) => Promise<Draft>
  bring: (id: string, files: readonly NamedFile[]) => Promise<SnapshotFiles>
}

/** Returns the SHA-256 of a file in a place: null when it is missing, '' when it is not a plain file of this size, which is not read. */
export async function hashIn(place: Pick<BackupPlace, 'find'>, key: string, bytes: number | undefined): Promise<string | null> {
  const found = await place.find(key)
  if (!found) return null
  return found.bytes === bytes ? hashOf(await found.read()) : ''
}
