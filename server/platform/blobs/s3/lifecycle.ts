import type { LRUCache } from 'lru-cache'
import { storageAway } from '../../../errors.ts'
import { DamagedBytes, readRemovedName, type RemovedBytes } from '../store.ts'
import type { Verifier } from '../verified-reads.ts'
import type { Bucket } from './bucket.ts'
import { codeOf, isMissingObject, isPrecondition, isUnsupported, missingObjectError } from './errors.ts'
import { copyObject, deleteObject, findFacts, listObjects, type ObjectFacts } from './objects.ts'
import { verify } from './stored.ts'
import { DeleteObjectCommand } from '@aws-sdk/client-s3'

/** Time in milliseconds within which a removal that copied bytes aside may still delete them from their content address. */
const removalMs = 60_000

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

async function asidesOf(bucket: Bucket, sha256: string) {
  const asides: Pick<ObjectFacts, 'key' | 'modifiedAt'>[] = []
  for await (const aside of listObjects(bucket, bucket.keys.asides(sha256))) asides.push(aside)
  return asides
}

/** Copies to a key without an object. Returns false if the target may exist or the source does not. */
async function copyIfAbsent(bucket: Bucket, from: string, to: string): Promise<boolean> {
  const condition = bucket.lacks.conditionalWrites ? {} : { IfNoneMatch: '*' }
  try {
    await copyObject(bucket, from, to, condition)
    return true
  } catch (error) {
    if (isMissingObject(error) || isPrecondition(error)) return false
    if (!isUnsupported(error) || bucket.lacks.conditionalWrites) throw error
    bucket.lacks.conditionalWrites = true
    return copyIfAbsent(bucket, from, to)
  }
}

/** Updates the modification time of intact bytes at the target, so that they are not collected. Replaces corrupt bytes. */
async function refresh(bucket: Bucket, verifier: Verifier, { from, to, sha256 }: Record<'from' | 'to' | 'sha256', string>): Promise<void> {
  if (await isWhole(bucket, verifier, sha256)) return copyObject(bucket, to, to, { MetadataDirective: 'REPLACE' })
  try {
    await copyObject(bucket, from, to)
  } catch (error) {
    throw isMissingObject(error) ? storageAway(missingObjectError(error)) : error
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

/**
 * Copies stored bytes aside and deletes them from their content address, because S3 has no atomic move. Does nothing if they are not older than
 * `before`, or if they were replaced during the copy. Records the completed removal in `settled`.
 * @returns the size in bytes, or null if the bytes do not exist or are too recent.
 */
export async function moveToRemoved(
  bucket: Bucket,
  settled: LRUCache<string, true>,
  sha256: string,
  { at, before }: { at: Date; before: Date | null },
): Promise<number | null> {
  const [key, aside] = [bucket.keys.blob(sha256), bucket.keys.aside(sha256, at)]
  const found = await findFacts(bucket, key)
  if (!found || (before !== null && found.modifiedAt >= before)) return null
  await copyObject(bucket, key, aside)
  const now = await findFacts(bucket, key)
  if (!now) return null
  if (now.modifiedAt.getTime() !== found.modifiedAt.getTime()) {
    await deleteObject(bucket, aside)
    return null
  }
  await deleteOnce(bucket, key)
  settled.set(aside, true)
  return found.bytes
}

/** Lists the removed objects. Objects with other names are ignored. */
export async function* listRemoved(
  bucket: Bucket,
  prefix = bucket.keys.removed,
): AsyncGenerator<RemovedBytes & Pick<ObjectFacts, 'key' | 'modifiedAt'>> {
  for await (const { key, bytes, modifiedAt } of listObjects(bucket, prefix)) {
    const told = readRemovedName(key.slice(bucket.keys.removed.length))
    if (told) yield { ...told, bytes, key, modifiedAt }
  }
}

/** Permanently deletes objects that were removed before `before`. */
export async function purgeRemoved(bucket: Bucket, before: Date): Promise<RemovedBytes[]> {
  const purged: RemovedBytes[] = []
  for await (const { sha256, bytes, removedAt, key } of listRemoved(bucket)) {
    if (removedAt >= before) continue
    await deleteObject(bucket, key)
    purged.push({ sha256, bytes, removedAt })
  }
  return purged
}

/** Copies removed bytes back to their content address. Returns false if they do not exist. */
export async function restoreRemoved(bucket: Bucket, settled: LRUCache<string, true>, sha256: string): Promise<boolean> {
  const target = bucket.keys.blob(sha256)
  for await (const { key, modifiedAt } of listRemoved(bucket, bucket.keys.asides(sha256))) {
    try {
      await copyObject(bucket, key, target)
    } catch (error) {
      if (isMissingObject(error)) continue
      throw error
    }
    const restored = await findFacts(bucket, target)
    const age = (restored?.modifiedAt.getTime() ?? 0) - modifiedAt.getTime()
    // A recent removal by another process may still delete the restored object. Keep the removed copy until that is no longer possible.
    if (settled.has(key) || age >= removalMs) await deleteObject(bucket, key)
    return true
  }
  return false
}

/** Deletes an object with a short timeout and no retries, because a late deletion could hit bytes that were published in the meantime. */
async function deleteOnce(bucket: Bucket, key: string): Promise<void> {
  const abortSignal = AbortSignal.timeout(Math.min(bucket.timeoutMs, removalMs / 4))
  await bucket.once.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: key }), { abortSignal })
}
