import type { LRUCache } from 'lru-cache'
import { storageAway } from '../../../errors.ts'
import { DamagedBytes } from '../store.ts'
import type { Verifier } from '../verified-reads.ts'
import type { Bucket } from './bucket.ts'
import { codeOf, isMissing, isPrecondition, isUnsupported, missing } from './errors.ts'
import { copyObject, deleteObject, listObjects, type ObjectFacts } from './objects.ts'
import { verify } from './stored.ts'

/** Time in milliseconds within which a removal that copied bytes aside may still delete them from their content address (see removed.ts). */
export const removalMs = 60_000

/** State of this process: verified bytes, and removals that have ended. */
type Memory = { verifier: Verifier; settled: LRUCache<string, true> }

/**
 * Copies staged bytes to their content address and verifies them there. If the staged bytes are missing, an earlier attempt may have copied them;
 * throws ENOENT if neither exists. Every step can be repeated, also after a lost response.
 *
 * A concurrent removal of the same bytes copies them aside, checks that they are unchanged, and deletes them. It must not delete the new bytes.
 * Either the removal sees the new bytes, or this function sees the copy and throws. `settled` contains the removals that are known to have ended.
 */
export async function promote(bucket: Bucket, { verifier, settled }: Memory, name: string, sha256: string): Promise<void> {
  const [from, to] = [bucket.keys.staged(name), bucket.keys.blob(sha256)]
  if (!(await copyIfAbsent(bucket, from, to))) await refresh(bucket, verifier, { from, to, sha256 })
  const [{ modifiedAt }, asides] = await Promise.all([confirm(bucket, verifier, sha256), asidesOf(bucket, sha256)])
  const isPending = (aside: Pick<ObjectFacts, 'key' | 'modifiedAt'>) =>
    !settled.has(aside.key) && modifiedAt.getTime() - aside.modifiedAt.getTime() < removalMs
  if (asides.some(isPending)) throw new Error(`The bytes with the SHA-256 ${sha256} are currently being removed`)
  // A staged object that cannot be deleted now is collected later.
  await deleteObject(bucket, from).catch(() => {})
}

/** Copies to a key without an object. Returns false if the target may exist or the source does not. */
async function copyIfAbsent(bucket: Bucket, from: string, to: string): Promise<boolean> {
  const condition = bucket.lacks.conditionalWrites ? {} : { IfNoneMatch: '*' }
  try {
    await copyObject(bucket, from, to, condition)
    return true
  } catch (error) {
    if (isMissing(error) || isPrecondition(error)) return false
    if (!isUnsupported(error) || bucket.lacks.conditionalWrites) throw error
    bucket.lacks.conditionalWrites = true
    return copyIfAbsent(bucket, from, to)
  }
}

/** Updates the modification time of intact bytes at the target, so that they are not collected. Replaces corrupt bytes. */
async function refresh(
  bucket: Bucket,
  verifier: Verifier,
  { from, to, sha256 }: { from: string; to: string; sha256: string },
): Promise<void> {
  if (await isWhole(bucket, verifier, sha256)) return copyObject(bucket, to, to, { MetadataDirective: 'REPLACE' })
  try {
    await copyObject(bucket, from, to)
  } catch (error) {
    throw isMissing(error) ? storageAway(missing(error)) : error
  }
}

async function isWhole(bucket: Bucket, verifier: Verifier, sha256: string): Promise<boolean> {
  try {
    await verify(bucket, verifier, sha256)
    return true
  } catch (error) {
    if (error instanceof DamagedBytes || codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** Verifies the bytes at the content address. @throws Error if they are not the bytes that were sent. Unreferenced bytes are collected later. */
async function confirm(bucket: Bucket, verifier: Verifier, sha256: string): Promise<ObjectFacts> {
  // Discard earlier results, which may describe corrupt bytes that have just been replaced.
  verifier.forget(sha256)
  try {
    return await verify(bucket, verifier, sha256)
  } catch (error) {
    throw new Error(`The storage service does not have the bytes with the SHA-256 ${sha256} after the upload`, { cause: error })
  }
}

async function asidesOf(bucket: Bucket, sha256: string) {
  const asides: Pick<ObjectFacts, 'key' | 'modifiedAt'>[] = []
  for await (const aside of listObjects(bucket, bucket.keys.asides(sha256))) asides.push(aside)
  return asides
}
