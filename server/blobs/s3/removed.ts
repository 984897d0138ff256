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
 * Copies stored bytes aside and deletes them from their address, unless they are `before` or younger, or became new meanwhile: a service has no
 * step that does both at once. `settled` gets to know that it has ended.
 * @returns how many bytes; null when they are gone already, or too young.
 */
export async function setAside(
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
  await deleteSoon(bucket, key)
  settled.set(aside, true)
  return found.bytes
}

/** The removed bytes. Objects with another name are not ours. */
export async function* listRemoved(
  bucket: Bucket,
  prefix = bucket.keys.removed,
): AsyncGenerator<RemovedBytes & Pick<ObjectFacts, 'key' | 'modifiedAt'>> {
  for await (const { key, bytes, modifiedAt } of listObjects(bucket, prefix)) {
    const told = readRemovedName(key.slice(bucket.keys.removed.length))
    if (told) yield { ...told, bytes, key, modifiedAt }
  }
}

/** Deletes what was removed before `before`, for good. */
export async function purgeRemoved(bucket: Bucket, before: Date): Promise<RemovedBytes[]> {
  const purged: RemovedBytes[] = []
  for await (const { sha256, bytes, removedAt, key } of listRemoved(bucket)) {
    if (removedAt >= before) continue
    await deleteObject(bucket, key)
    purged.push({ sha256, bytes, removedAt })
  }
  return purged
}

/** Copies removed bytes back, as young as new ones; false when there are none. */
export async function restoreRemoved(bucket: Bucket, settled: LRUCache<string, true>, sha256: string): Promise<boolean> {
  const target = bucket.keys.blob(sha256)
  for await (const { key, modifiedAt } of listRemoved(bucket, bucket.keys.asides(sha256))) {
    if (!(await copied(bucket, key, target))) continue
    const restored = await findFacts(bucket, target)
    const age = (restored?.modifiedAt.getTime() ?? 0) - modifiedAt.getTime()
    // Whoever removed them a moment ago may delete them once more: then these are there yet.
    if (settled.has(key) || age >= removalMs) await deleteObject(bucket, key)
    return true
  }
  return false
}

/** False when the bytes are not there any more. */
async function copied(bucket: Bucket, from: string, to: string): Promise<boolean> {
  try {
    await copyObject(bucket, from, to)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Once, and at once: a deletion that comes late could hit bytes that were published since. */
async function deleteSoon(bucket: Bucket, key: string): Promise<void> {
  const abortSignal = AbortSignal.timeout(Math.min(bucket.timeoutMs, removalMs / 4))
  await bucket.once.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: key }), { abortSignal })
}
