import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { LRUCache } from 'lru-cache'
import { type BlobStore, storedAt } from '../store.ts'
import { openVerifier } from '../verified-reads.ts'
import { type Bucket, openBucket } from './bucket.ts'
import { collectStaged, uploadStream, uploadWhole } from './uploads.ts'
import { reported } from './errors.ts'
import { deleteObject, readFacts, readMarker, streamObject, writeMarker } from './objects.ts'
import type { BucketUse, S3Config } from './settings.ts'
import { listRemoved, moveToRemoved, promote, purgeRemoved, restoreRemoved } from './lifecycle.ts'
import { checkBucket } from './start-check.ts'
import { storeReads } from './stored.ts'

const archives: BucketUse = { what: 'The archive store', said: 'S3_BUCKET', variables: 'S3_', probes: 'staging/' }

/**
 * Opens a store in a bucket. Its keys equal the relative paths of a file system store.
 * @throws ConfigError if the bucket cannot be used as configured, with the remedy.
 * @throws Error if the service is unavailable.
 */
export const openS3Blobs = async (config: S3Config): Promise<BlobStore> => (await openS3WithClock(config)).store

/** Also returns how far the local clock is ahead of the service's clock, in milliseconds. */
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
    stage: async (name, source, limit) => uploadStream(bucket, bucket.keys.staged(name), source, limit),
    stageWhole: async (name, bytes) => uploadWhole(bucket, bucket.keys.staged(name), bytes),
    openStaged: (name) => reported(async () => streamObject(bucket, await readFacts(bucket, bucket.keys.staged(name)))),
    promote: async (name, sha256) => serialized(sha256, () => promote(bucket, { verifier, settled }, name, sha256)),
    // After a failed upload, the caller should not wait for the service once more. Leftovers are collected later.
    discard: async (name) => (bucket.isSilent() ? undefined : reported(async () => deleteObject(bucket, bucket.keys.staged(name)))),
    ...storeReads(bucket, verifier),
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
