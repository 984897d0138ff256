import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import { LRUCache } from 'lru-cache'
import { eachAlone } from '../each-alone.ts'
import { storedAt } from '../names.ts'
import type { BlobStore } from '../store.ts'
import { openVerifier } from '../verified-reads.ts'
import { type Bucket, openBucket } from './bucket.ts'
import { collectStaged } from './collect.ts'
import { reported } from './errors.ts'
import { readMarker, writeMarker } from './marker.ts'
import type { BucketUse } from './problems.ts'
import { promote } from './promote.ts'
import { listRemoved, purgeRemoved, restoreRemoved, setAside } from './removed.ts'
import type { S3Config } from './settings.ts'
import { discard, openStaged, stage, stageWhole } from './staged.ts'
import { checkBucket } from './start-check.ts'
import { readsOf } from './stored.ts'

const archives: BucketUse = { what: 'The archive store', said: 'S3_BUCKET', variables: 'S3_', probes: 'staging/' }

/**
 * Opens a store in a bucket, with the keys that a folder has as paths. What the service reports as done lasts.
 * @throws ConfigError when the bucket cannot be used as it is configured, with what to do about it; Error when the service is away.
 */
export const openS3Blobs = async (config: S3Config): Promise<BlobStore> => (await openS3WithClock(config)).store

/** The same, and by how many milliseconds the clock of this machine is ahead of the service's. */
export async function openS3WithClock(config: S3Config): Promise<{ store: BlobStore; aheadMs: number }> {
  const bucket = openBucket(config)
  await checkBucket(bucket, config, archives)
  return { store: storeIn(bucket), aheadMs: bucket.aheadMs() }
}

function storeIn(bucket: Bucket): BlobStore {
  const [verifier, settled, alone] = [openVerifier(), new LRUCache<string, true>({ max: 10_000 }), eachAlone()]
  /** Bytes are moved to and from their address one at a time, as far as this process goes. */
  const moving = <Result>(sha256: string, work: () => Promise<Result>) => alone(storedAt(sha256), () => reported(work))
  return {
    stage: async (name, source, limit) => stage(bucket, name, source, limit),
    stageWhole: async (name, bytes) => stageWhole(bucket, name, bytes),
    openStaged: async (name) => openStaged(bucket, name),
    promote: async (name, sha256) => moving(sha256, () => promote(bucket, { verifier, settled }, name, sha256)),
    discard: async (name) => discard(bucket, name),
    ...readsOf(bucket, verifier),
    remove: async (sha256, { at, before = null }) => moving(sha256, () => setAside(bucket, settled, sha256, { at, before })),
    listRemoved: () => listRemoved(bucket),
    restore: async (sha256) => moving(sha256, () => restoreRemoved(bucket, settled, sha256)),
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
