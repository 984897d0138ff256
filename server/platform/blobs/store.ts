import type { Readable } from 'node:stream'

/** Size and checksums that were computed while bytes were stored. */
export type StoredBytes = {
  bytes: number
  /** SHA-256 in hex. */
  sha256: string
  /** Base64 of the big-endian CRC-32C, as in the `x-goog-hash` header. */
  crc32c: string
}

/** Bytes that were removed from the store and are kept until they are purged. */
export type RemovedBytes = { sha256: string; bytes: number; removedAt: Date }

/** Thrown when stored bytes do not match the SHA-256 in their address. */
export class DamagedBytes extends Error {
  constructor(sha256: string) {
    super(`The stored bytes do not have the SHA-256 ${sha256}`)
    this.name = 'DamagedBytes'
  }
}

/**
 * Stores bytes on disk or in a bucket. An upload is staged under a unique name, validated, and then promoted to its content address (the SHA-256 of
 * its bytes), where it never changes. Bytes are stored before the row that refers to them; unreferenced bytes are removed after a day.
 */
export type BlobStore = {
  /** Streams `source` into the staging area. Past `limit` bytes, deletes the partial file and throws archiveTooLarge. */
  stage(name: string, source: Readable, limit: number): Promise<StoredBytes>
  /** Writes a complete buffer into the staging area under a unique name. The bytes need not be durable until they are promoted. */
  stageWhole(name: string, bytes: Buffer): Promise<StoredBytes>
  /** Reads staged bytes. Rejects with ENOENT if they do not exist. */
  openStaged(name: string): Promise<Readable>
  /** Moves staged bytes durably to their content address, where the same bytes may already exist. */
  promote(name: string, sha256: string): Promise<void>
  /** Deletes staged bytes, if they exist. */
  discard(name: string): Promise<void>
  /**
   * Streams stored bytes, or the range from `start` to `end` (inclusive). Rejects with ENOENT if they do not exist, and with DamagedBytes if they do
   * not match their hash, which is verified the first time a process reads them. A caller that has consumed a chunk before requesting the next one
   * can return true from `isTaken`, so that the buffer is reused.
   */
  open(sha256: string, range?: { start: number; end: number }, isTaken?: () => boolean): Promise<Readable>
  /** Returns all bytes, for small archives that are cached. Rejects like `open`. The hash is verified on every call. */
  read(sha256: string): Promise<Buffer>
  /**
   * Returns a public URL for stored bytes that is valid for `seconds` and serves them with this file name and media type, uncacheable. Returns null
   * if the store does not support links. Rejects like `open`.
   */
  link(sha256: string, options: { seconds: number; name: string; type: string }): Promise<string | null>
  /**
   * Returns the path of stored bytes relative to the folder of stored files, for a web server that sends the file. Returns null if the store is not a
   * folder. Rejects like `open`.
   */
  place(sha256: string): Promise<string | null>
  /** Computes the current hash of stored bytes. Rejects with ENOENT if they do not exist. */
  hash(sha256: string): Promise<string>
  /** Returns whether bytes exist at this address. Does not verify them. */
  has(sha256: string): Promise<boolean>
  /** Lists all stored bytes in no particular order. Bytes that are added or removed during the listing may be missing. */
  list(): AsyncIterable<{ sha256: string; bytes: number; storedAt: Date }>
  /**
   * Removes stored bytes but keeps them for recovery, with `at` as the removal time. With `before`, removes only older bytes. Returns the size, or
   * null if the bytes do not exist or are too recent.
   */
  remove(sha256: string, removal: { at: Date; before?: Date }): Promise<number | null>
  /** Lists the bytes that were removed but not yet purged, in no particular order. The same bytes may be listed more than once. */
  listRemoved(): AsyncIterable<RemovedBytes>
  /** Restores removed bytes with a current modification time. Returns false if they do not exist. */
  restore(sha256: string): Promise<boolean>
  /** Permanently deletes bytes that were removed before `before` and returns them. */
  purge(before: Date): Promise<RemovedBytes[]>
  /** Deletes staged bytes older than `before` and returns their number. */
  collectStaged(before: Date): Promise<number>
  /** Returns the id that ties the store to its database, or null if it has none. */
  identity(): Promise<string | null>
  /** Durably sets the id of the store, unless it already has one and `replace` is not set. Returns the resulting id. */
  identify(id: string, options?: { replace: boolean }): Promise<string>
  /** Health check: lists the root. Throws if the storage is unreachable or full. */
  check(): Promise<void>
}

/** Returns the name of a staged file unchanged. @throws RangeError if the name could lead to another folder. */
export const stagedName = (name: string): string => pathPart(name, /^[0-9a-z][0-9a-z-]{0,63}$/)

/** Returns the path of stored bytes relative to the root of a store. @throws RangeError if the value is not a SHA-256 in lower-case hex. */
export const storedAt = (sha256: string): string => `${pathPart(sha256, wholeHash).slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`

/** Returns the name of a removed file, which contains the removal time in milliseconds. */
export const removedName = (sha256: string, at: Date): string => `${pathPart(sha256, wholeHash)}.${at.getTime()}`

/** Parses the name of a removed file. Returns null for any other name. */
export function readRemovedName(name: string): { sha256: string; removedAt: Date } | null {
  const [, sha256 = '', moment] = /^([0-9a-f]{64})\.(\d{1,15})$/.exec(name) ?? []
  return sha256 ? { sha256, removedAt: new Date(Number(moment)) } : null
}

/** Returns whether a name is a complete SHA-256 in lower-case hex. */
export const isHash = (name: string): boolean => wholeHash.test(name)

const wholeHash = /^[0-9a-f]{64}$/

/**
 * Validates a value that becomes part of a path or object key and returns it unchanged. Ids and hashes come from a database that may have been
 * restored or edited.
 * @throws RangeError if the value does not match `form`, which must match the whole value and must not allow `..` between separators.
 */
export function pathPart(value: string, form: RegExp): string {
  if (!form.test(value)) throw new RangeError(`Not a valid file name: ${JSON.stringify(value.slice(0, 200))}`)
  return value
}
