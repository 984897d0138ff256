import { removedName, stagedName, storedAt } from '../names.ts'

/** The keys of a store, named as the files of a folder are, so that one can be copied to the other. */
export type BucketKeys = ReturnType<typeof keysBelow>

/** Only plain names and whole hashes become keys, so nothing leads out of the prefix, which is empty or ends in a slash. */
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
    /** Where the removed bytes with this hash begin in a listing. */
    asides: (sha256: string) => `${removed}${storedAt(sha256).slice(-64)}.`,
  }
}
