import { DeleteObjectCommand } from '@aws-sdk/client-s3'
import type { LRUCache } from 'lru-cache'
import { readRemovedName } from '../names.ts'
import type { RemovedBytes } from '../store.ts'
import type { Bucket } from './bucket.ts'
import { isMissing } from './errors.ts'
import { copyObject, deleteObject, findFacts, listObjects, type ObjectFacts } from './objects.ts'
import { removalMs } from './promote.ts'

type Removal = { at: Date; before: Date | null }

/**
 * Copies stored bytes aside and deletes them from their content address, because S3 has no atomic move. Does nothing if they are not older than
 * `before`, or if they were replaced during the copy. Records the completed removal in `settled`.
 * @returns the size in bytes, or null if the bytes do not exist or are too recent.
 */
export async function moveToRemoved(
  bucket: Bucket,
  settled: LRUCache<string, true>,
  sha256: string,
  { at, before }: Removal,
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
    if (!(await copyExisting(bucket, key, target))) continue
    const restored = await findFacts(bucket, target)
    const age = (restored?.modifiedAt.getTime() ?? 0) - modifiedAt.getTime()
    // A recent removal by another process may still delete the restored object. Keep the removed copy until that is no longer possible.
    if (settled.has(key) || age >= removalMs) await deleteObject(bucket, key)
    return true
  }
  return false
}

/** Copies an object. Returns false if it no longer exists. */
async function copyExisting(bucket: Bucket, from: string, to: string): Promise<boolean> {
  try {
    await copyObject(bucket, from, to)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Deletes an object with a short timeout and no retries, because a late deletion could hit bytes that were published in the meantime. */
async function deleteOnce(bucket: Bucket, key: string): Promise<void> {
  const abortSignal = AbortSignal.timeout(Math.min(bucket.timeoutMs, removalMs / 4))
  await bucket.once.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: key }), { abortSignal })
}
