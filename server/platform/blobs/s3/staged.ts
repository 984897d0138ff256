import type { Readable } from 'node:stream'
import type { StoredBytes } from '../store.ts'
import type { Bucket } from './bucket.ts'
import { reported } from './errors.ts'
import { deleteObject, factsOf, streamObject } from './objects.ts'
import { uploadStream, uploadWhole } from './uploads.ts'

/** Uploads a stream to the staging area. Parts left behind by a failing service are collected later. */
export const stage = (bucket: Bucket, name: string, source: Readable, limit: number): Promise<StoredBytes> =>
  uploadStream(bucket, bucket.keys.staged(name), source, limit)

/** Uploads a complete buffer to the staging area. */
export const stageWhole = (bucket: Bucket, name: string, bytes: Buffer): Promise<StoredBytes> =>
  uploadWhole(bucket, bucket.keys.staged(name), bytes)

/** Reads a staged object. Rejects with ENOENT if it does not exist. */
export async function openStaged(bucket: Bucket, name: string): Promise<Readable> {
  const key = bucket.keys.staged(name)
  return reported(async () => streamObject(bucket, await factsOf(bucket, key)))
}

/** Deletes a staged object, if it exists. */
export async function discard(bucket: Bucket, name: string): Promise<void> {
  const key = bucket.keys.staged(name)
  await reported(() => deleteObject(bucket, key))
}
