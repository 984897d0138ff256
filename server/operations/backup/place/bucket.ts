import { type Bucket, openBucket } from '../../../platform/blobs/s3/bucket.ts'
import { namesBelow, readMarker, writeMarker } from '../../../platform/blobs/s3/objects.ts'
import { bucketFailure, nameOfBucket } from '../../../platform/blobs/s3/settings.ts'
import { checkBucket } from '../../../platform/blobs/s3/start-check.ts'
import type { BucketAddress } from '../../../platform/config/bucket-address.ts'
import { ApiError, conflict } from '../../../errors.ts'
import { contentsOf, type Reach } from './bucket-contents.ts'
import { ownerKey, partialKey, snapshotsKey } from './layout.ts'
import type { BackupPlace } from './place.ts'
import { type PlaceConfig, settingsOf, use } from './settings.ts'
import { downloadFiles, draftOf } from './transfer.ts'

/** Opens a backup location in a bucket, below a prefix. Database snapshots are staged in a local folder. */
export function bucketPlace(config: PlaceConfig, address: BucketAddress): BackupPlace {
  const settings = settingsOf(config, address)
  const bucket = openBucket(settings)
  const failure = (error: unknown) => bucketFailure(error instanceof ApiError ? (error.cause ?? error) : error, settings, use)
  const reach: Reach = {
    bucket,
    name: nameOfBucket(settings),
    keyOf: (key) => `${bucket.keys.root}${key}`,
    failure,
    ask: (question) =>
      question().catch((error: unknown) => {
        throw failure(error)
      }),
  }
  const { name, keyOf, ask } = reach
  const check = async () => {
    if (!(await ask(() => isFree(bucket)))) throw conflict(`${name} has other objects. Name an empty prefix, or one with backups.`)
    await checkBucket(bucket, settings, use)
  }
  const place: BackupPlace = {
    name,
    nameOf: (key) => `${name}${key}`,
    check,
    inspect: check,
    prepare: check,
    owner: () => ask(() => readMarker(bucket, keyOf(ownerKey))),
    claim: (id) => ask(() => writeMarker(bucket, keyOf(ownerKey), id, { replace: false })),
    ...contentsOf(reach),
    // Nothing to do: S3 writes are durable once they are acknowledged.
    flush: async () => {},
    draft: (id) => draftOf(place, config.DATA_DIR, id),
    fetchFiles: (id, files) => downloadFiles(place, config.DATA_DIR, { id, files }),
  }
  return place
}

/** Returns whether the prefix is empty or contains backups. Apart from access checks, the owner marker is the first object that is written. */
async function isFree(bucket: Bucket): Promise<boolean> {
  const root = bucket.keys.root
  if ((await readMarker(bucket, `${root}${ownerKey}`)) !== null) return true
  for await (const _ of namesBelow(bucket, `${root}${snapshotsKey}`)) return true
  for await (const found of namesBelow(bucket, root)) if (!['', partialKey].includes(found)) return false
  return true
}
