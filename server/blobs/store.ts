import type { Readable } from 'node:stream'

/** What was learned about bytes while they were stored. */
export type StoredBytes = {
  bytes: number
  /** Hex. */
  sha256: string
  /** Base64 of the big-endian CRC-32C, as `x-goog-hash` carries it. */
  crc32c: string
}

/** Bytes that were taken out of the store, and wait there until they are deleted for good. */
export type RemovedBytes = { sha256: string; bytes: number; removedAt: Date }

/** Stored bytes are not those that their address says. */
export class DamagedBytes extends Error {
  constructor(sha256: string) {
    super(`The stored bytes do not have the SHA-256 ${sha256}`)
    this.name = 'DamagedBytes'
  }
}

/**
 * Where bytes are kept: on disk or in a bucket. An upload is staged under a name of its own, read while it is checked, and then
 * promoted to its content address (the SHA-256 of its bytes), where it never changes. Bytes come first, rows later: what no row
 * names is removed after a day.
 */
export type BlobStore = {
  /** Streams `source` into the staging area. Past `limit` bytes it stops reading, removes what was written and throws archiveTooLarge. */
  stage(name: string, source: Readable, limit: number): Promise<StoredBytes>
  /** Writes bytes that are all there into the staging area, under a name that nobody else uses. They need not survive a power cut yet. */
  stageWhole(name: string, bytes: Buffer): Promise<StoredBytes>
  /** Reads staged bytes; rejects with ENOENT when there are none. */
  openStaged(name: string): Promise<Readable>
  /** Moves staged bytes to their content address, durably. The same bytes may be there already. */
  promote(name: string, sha256: string): Promise<void>
  /** Removes staged bytes; nothing happens when there are none. */
  discard(name: string): Promise<void>
  /**
   * Streams stored bytes; `start` and `end` (inclusive) pick a range. Rejects with ENOENT when there are none, and with DamagedBytes when they
   * are not what was stored: the hash is compared when a process reads them for the first time. Who uses up each chunk before
   * taking the next one may say so by `isTaken`, which lets a store use its memory again.
   */
  open(sha256: string, range?: { start: number; end: number }, isTaken?: () => boolean): Promise<Readable>
  /** Whole bytes, for small archives that a cache keeps. Rejects as `open` does; the hash is compared each time. */
  read(sha256: string): Promise<Buffer>
  /**
   * An address where anybody reads stored bytes for so many seconds, as a file of this name and media type that no cache keeps; null where the
   * store has none. Rejects as `open` does.
   */
  link(sha256: string, options: { seconds: number; name: string; type: string }): Promise<string | null>
  /**
   * Where stored bytes are, as a path below the folder of all stored ones, for another program that sends them; null where the store is no folder.
   * Rejects as `open` does.
   */
  place(sha256: string): Promise<string | null>
  /** Reads stored bytes and gives the hash that they have now; rejects with ENOENT when there are none. */
  hash(sha256: string): Promise<string>
  /** Whether there are bytes under this address, whatever they are. */
  has(sha256: string): Promise<boolean>
  /** Everything that is stored, in no order. What comes or goes meanwhile may be in it or not. */
  list(): AsyncIterable<{ sha256: string; bytes: number; storedAt: Date }>
  /**
   * Takes stored bytes out, and keeps them aside as removed `at` this moment; with `before`, only when they are older than that. Gives their
   * size; null when there are none, or they are younger.
   */
  remove(sha256: string, removal: { at: Date; before?: Date }): Promise<number | null>
  /** What is kept aside, in no order. The same bytes may be there more than once. */
  listRemoved(): AsyncIterable<RemovedBytes>
  /** Puts removed bytes back, as if they were stored now; false when there are none. */
  restore(sha256: string): Promise<boolean>
  /** Deletes what was removed before `before`, for good; gives what that was. */
  purge(before: Date): Promise<RemovedBytes[]>
  /** Removes staged bytes older than `before`; gives their number. */
  collectStaged(before: Date): Promise<number>
  /** The id that ties the store to its database; null before it has one. */
  identity(): Promise<string | null>
  /** Gives the store an id, durably; one that it has stays, unless `replace` is said. Gives the id that it has then. */
  identify(id: string, options?: { replace: boolean }): Promise<string>
  /** Lists the root, for the health check; throws when the storage is out of reach or full. */
  check(): Promise<void>
}
