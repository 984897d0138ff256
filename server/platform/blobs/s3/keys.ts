import { removedName, stagedName, storedAt } from '../names.ts'

/** The object keys of a store. They equal the relative paths of a file system store, so one can be copied to the other. */
export type BucketKeys = ReturnType<typeof keysBelow>

/**
 * Returns the keys below `prefix`, which is empty or ends in a slash. Only valid staging names and complete hashes are accepted, so no key leads
 * outside the prefix.
 */
export function keysBelow(prefix: string) {
  const [staging, stored, removed] = [`${prefix}staging/`, `${prefix}sha256/`, `${prefix}removed/`]
  return {
    root: prefix,
    staging,
    stored,
    removed,
    marker: `${prefix}store-id`,
    staged: (name: string) => `${staging}${stagedName(name)}`,
    blob: (sha256: string) => `${stored}${storedAt(sha256)}`,
    aside: (sha256: string, at: Date) => `${removed}${removedName(sha256, at)}`,
    /** Returns the key prefix of removed bytes with this hash. */
    asides: (sha256: string) => `${removed}${storedAt(sha256).slice(-64)}.`,
  }
}
