import type { Readable } from 'node:stream'

/** What was learned about bytes while they were stored. */
export type StoredBytes = {
  bytes: number
  /** Hex. */
  sha256: string
  /** Base64 of the big-endian CRC-32C, as `x-goog-hash` carries it. */
  crc32c: string
}

/**
 * Where bytes are kept: on disk or in a bucket. An upload is staged under a name of its own, read while it is checked, and then
 * promoted to its content address (the SHA-256 of its bytes), where it never changes. Bytes come first, rows later: what no row
 * names is collected after a day.
 */
export type BlobStore = {
  /** Streams `source` into the staging area. Past `limit` bytes it stops reading, removes what was written and throws archiveTooLarge. */
  stage(name: string, source: Readable, limit: number): Promise<StoredBytes>
  /** Reads staged bytes; rejects with ENOENT when there are none. */
  openStaged(name: string): Promise<Readable>
  /** Moves staged bytes to their content address, durably. The same bytes may be there already. */
  promote(name: string, sha256: string): Promise<void>
  /** Removes staged bytes; nothing happens when there are none. */
  discard(name: string): Promise<void>
  /**
   * Streams stored bytes; `start` and `end` (inclusive) pick a range. Rejects with ENOENT when there are none. Who uses up each chunk before
   * taking the next one may say so by `isTaken`, which lets a store use its memory again.
   */
  open(sha256: string, range?: { start: number; end: number }, isTaken?: () => boolean): Promise<Readable>
  /** Whole bytes, for small archives that a cache keeps. */
  read(sha256: string): Promise<Buffer>
  /** Everything that is stored, in no order. What comes or goes meanwhile may be in it or not. */
  list(): AsyncIterable<{ sha256: string; bytes: number; storedAt: Date }>
  /** Removes stored bytes; nothing happens when there are none. */
  remove(sha256: string): Promise<void>
  /** Removes staged bytes older than `before`, and stored ones older than it of which `isKnown` says that no row names them. */
  collect(before: Date, isKnown: (sha256: string[]) => Promise<ReadonlySet<string>>): Promise<{ removed: number }>
  /** Lists the root, for the health check; throws when the storage is out of reach. */
  check(): Promise<void>
}
