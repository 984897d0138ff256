import type { LRUCache } from 'lru-cache'
import { storageAway } from '../../errors.ts'
import { DamagedBytes } from '../store.ts'
import type { Verifier } from '../verified-reads.ts'
import type { Bucket } from './bucket.ts'
import { codeOf, isMissing, isPrecondition, isUnsupported, missing } from './errors.ts'
import { copyObject, deleteObject, listObjects, type ObjectFacts } from './objects.ts'
import { verify } from './stored.ts'

/** For so long after bytes were kept aside, the one who does so may still delete them from their address (see removed.ts). */
export const removalMs = 60_000

/** What this process knows: of bytes that it compared, and of removals that it ended. */
type Memory = { verifier: Verifier; settled: LRUCache<string, true> }

/**
 * Takes staged bytes to their address, and is done when they are seen there and have its hash. When there are none, they may have been taken there
 * before; ENOENT when neither is so. Every step can be repeated, also when its answer was lost.
 *
 * Somebody who removes the same bytes keeps them aside, looks whether they are still the old ones, and deletes them: that must not hit the new
 * ones. Either that one sees the new bytes, or this sees those aside, and refuses. `settled` are the removals that are known to have ended.
 */
export async function promote(bucket: Bucket, { verifier, settled }: Memory, name: string, sha256: string): Promise<void> {
  const [from, to] = [bucket.keys.staged(name), bucket.keys.blob(sha256)]
  if (!(await copiedAnew(bucket, from, to))) await renew(bucket, verifier, { from, to, sha256 })
  const [{ modifiedAt }, asides] = await Promise.all([confirm(bucket, verifier, sha256), asidesOf(bucket, sha256)])
  const isUnderWay = (aside: Pick<ObjectFacts, 'key' | 'modifiedAt'>) =>
    !settled.has(aside.key) && modifiedAt.getTime() - aside.modifiedAt.getTime() < removalMs
  if (asides.some(isUnderWay)) throw new Error(`The bytes with the SHA-256 ${sha256} are being removed at the moment`)
  // What stays is collected.
  await deleteObject(bucket, from).catch(() => {})
}

/** Copies to where nothing is yet. False when something may be there, or there is nothing to copy. */
async function copiedAnew(bucket: Bucket, from: string, to: string): Promise<boolean> {
  const condition = bucket.lacks.conditionalWrites ? {} : { IfNoneMatch: '*' }
  try {
    await copyObject(bucket, from, to, condition)
    return true
  } catch (error) {
    if (isMissing(error) || isPrecondition(error)) return false
    if (!isUnsupported(error) || bucket.lacks.conditionalWrites) throw error
    bucket.lacks.conditionalWrites = true
    return copiedAnew(bucket, from, to)
  }
}

/** The same bytes may be there: then they become as young as new ones, lest they are collected. Others are replaced. */
async function renew(
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

/** @throws Error when the bytes at the address are not those that were sent; if no version names them, they are collected. */
async function confirm(bucket: Bucket, verifier: Verifier, sha256: string): Promise<ObjectFacts> {
  // What was found before, perhaps damaged, is not what was written now.
  verifier.forget(sha256)
  try {
    return await verify(bucket, verifier, sha256)
  } catch (error) {
    throw new Error(`The storage service did not keep the bytes with the SHA-256 ${sha256}`, { cause: error })
  }
}

async function asidesOf(bucket: Bucket, sha256: string) {
  const asides: Pick<ObjectFacts, 'key' | 'modifiedAt'>[] = []
  for await (const aside of listObjects(bucket, bucket.keys.asides(sha256))) asides.push(aside)
  return asides
}
