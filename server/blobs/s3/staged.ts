import type { Readable } from 'node:stream'
import type { StoredBytes } from '../store.ts'
import type { Bucket } from './bucket.ts'
import { reported } from './errors.ts'
import { deleteObject, factsOf, streamObject } from './objects.ts'
import { uploadStream, uploadWhole } from './uploads.ts'

/** Sends what comes to the staging area. What it leaves behind when the service fails is collected. */
export const stage = (bucket: Bucket, name: string, source: Readable, limit: number): Promise<StoredBytes> =>
  uploadStream(bucket, bucket.keys.staged(name), source, limit)

/** Sends bytes that are all there to the staging area. */
export const stageWhole = (bucket: Bucket, name: string, bytes: Buffer): Promise<StoredBytes> =>
  uploadWhole(bucket, bucket.keys.staged(name), bytes)

/** Reads staged bytes; rejects with ENOENT when there are none. */
export async function openStaged(bucket: Bucket, name: string): Promise<Readable> {
  const key = bucket.keys.staged(name)
  return reported(async () => streamObject(bucket, await factsOf(bucket, key)))
}

/** Removes staged bytes; nothing happens when there are none. */
export async function discard(bucket: Bucket, name: string): Promise<void> {
  const key = bucket.keys.staged(name)
  await reported(() => deleteObject(bucket, key))
}
