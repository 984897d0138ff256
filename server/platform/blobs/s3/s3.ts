import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { LRUCache } from 'lru-cache'
import type { Readable } from 'node:stream'
import { storedAt } from '../names.ts'
import type { BlobStore, StoredBytes } from '../store.ts'
import { openVerifier } from '../verified-reads.ts'
import { type Bucket, openBucket } from './bucket.ts'
import { collectStaged, uploadStream, uploadWhole } from './uploads.ts'
import { reported } from './errors.ts'
import { deleteObject, factsOf, readMarker, streamObject, writeMarker } from './objects.ts'
import type { BucketUse, S3Config } from './settings.ts'
import { listRemoved, moveToRemoved, promote, purgeRemoved, restoreRemoved } from './lifecycle.ts'
import { checkBucket } from './start-check.ts'
import { readsOf } from './stored.ts'

const archives: BucketUse = { what: 'The archive store', said: 'S3_BUCKET', variables: 'S3_', probes: 'staging/' }

/**
 * Opens a store in a bucket. Its keys equal the relative paths of a file system store.
 * @throws ConfigError if the bucket cannot be used as configured, with the remedy.
 * @throws Error if the service is unavailable.
 */
export const openS3Blobs = async (config: S3Config): Promise<BlobStore> => (await openS3WithClock(config)).store

/** Opens a store and returns how far the local clock is ahead of the service's clock, in milliseconds. */
export async function openS3WithClock(config: S3Config): Promise<{ store: BlobStore; aheadMs: number }> {
  const bucket = openBucket(config)
  await checkBucket(bucket, config, archives)
  return { store: storeIn(bucket), aheadMs: bucket.aheadMs() }
}

function storeIn(bucket: Bucket): BlobStore {
  const [verifier, settled, alone] = [openVerifier(), new LRUCache<string, true>({ max: 10_000 }), serializeByKey()]
  /** Serializes operations on the same content address within this process. */
  const serialized = <Result>(sha256: string, work: () => Promise<Result>) => alone(storedAt(sha256), () => reported(work))
  return {
    stage: async (name, source, limit) => stage(bucket, name, source, limit),
    stageWhole: async (name, bytes) => stageWhole(bucket, name, bytes),
    openStaged: async (name) => openStaged(bucket, name),
    promote: async (name, sha256) => serialized(sha256, () => promote(bucket, { verifier, settled }, name, sha256)),
    discard: async (name) => discard(bucket, name),
    ...readsOf(bucket, verifier),
    remove: async (sha256, { at, before = null }) => serialized(sha256, () => moveToRemoved(bucket, settled, sha256, { at, before })),
    listRemoved: () => listRemoved(bucket),
    restore: async (sha256) => serialized(sha256, () => restoreRemoved(bucket, settled, sha256)),
    purge: (before) => reported(() => purgeRemoved(bucket, before)),
    collectStaged: (before) => reported(() => collectStaged(bucket, before)),
    identity: () => reported(() => readMarker(bucket, bucket.keys.marker)),
    identify: (id, { replace } = { replace: false }) =>
      alone('', () => reported(() => writeMarker(bucket, bucket.keys.marker, id, { replace }))),
    check: async () =>
      void (await bucket.client.send(
        new ListObjectsV2Command({ Bucket: bucket.name, Prefix: bucket.keys.root, MaxKeys: 1 }),
        bucket.inTime(),
      )),
  }
}

/** Uploads a stream to the staging area. Parts left behind by a failing service are collected later. */
const stage = (bucket: Bucket, name: string, source: Readable, limit: number): Promise<StoredBytes> =>
  uploadStream(bucket, bucket.keys.staged(name), source, limit)

/** Uploads a complete buffer to the staging area. */
const stageWhole = (bucket: Bucket, name: string, bytes: Buffer): Promise<StoredBytes> =>
  uploadWhole(bucket, bucket.keys.staged(name), bytes)

/** Reads a staged object. Rejects with ENOENT if it does not exist. */
async function openStaged(bucket: Bucket, name: string): Promise<Readable> {
  const key = bucket.keys.staged(name)
  return reported(async () => streamObject(bucket, await factsOf(bucket, key)))
}

/** Deletes a staged object, if it exists. */
async function discard(bucket: Bucket, name: string): Promise<void> {
  const key = bucket.keys.staged(name)
  await reported(() => deleteObject(bucket, key))
}

/** Returns a queue per key: work with the same key runs one at a time, in call order. */
function serializeByKey(): <Result>(key: string, work: () => Promise<Result>) => Promise<Result> {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = last.get(key)
    const mine = (async () => {
      await before?.catch(() => {})
      return work()
    })()
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}
