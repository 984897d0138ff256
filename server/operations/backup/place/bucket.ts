import { type Bucket, openBucket } from '../../../platform/blobs/s3/bucket.ts'
import {
  deleteObject,
  findFacts,
  listObjects,
  namesBelow,
  readMarker,
  streamObject,
  writeMarker,
} from '../../../platform/blobs/s3/objects.ts'
import { bucketFailure, nameOfBucket, type S3Config } from '../../../platform/blobs/s3/settings.ts'
import { checkBucket } from '../../../platform/blobs/s3/start-check.ts'
import type { BucketAddress } from '../../../platform/config/forms.ts'
import { ApiError, conflict } from '../../../errors.ts'
import { type BackupPlace, type BlobFacts, blobKey, blobsKey, ownerKey, partialKey, snapshotsKey } from './place.ts'
import { type PlaceConfig, backupBucketSettings, use } from './settings.ts'
import { downloadFiles, draftOf } from './scratch.ts'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { abortUploads, partBytes, uploadStream, uploadWhole } from '../../../platform/blobs/s3/uploads.ts'
import { expecting, type Measured } from './files.ts'
import { createLookup, requireSorted } from '../blob-lists.ts'

/** Opens a backup location in a bucket, below a prefix. Database snapshots are staged in a local folder. */
export function bucketPlace(config: PlaceConfig, address: BucketAddress): BackupPlace {
  const settings = backupBucketSettings(config, address)
  const reach = reachOf(settings)
  const { bucket, name, keyOf, ask } = reach
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

type Reach = ReturnType<typeof reachOf>

/** Returns access to a bucket, with errors translated for operators. */
function reachOf(settings: S3Config) {
  const bucket = openBucket(settings)
  const failure = (error: unknown) => bucketFailure(error instanceof ApiError ? (error.cause ?? error) : error, settings, use)
  return {
    bucket,
    name: nameOfBucket(settings),
    keyOf: (key: string) => `${bucket.keys.root}${key}`,
    failure,
    /** Sends a request to the bucket. @throws the error that `failure` returns for a failed request. */
    ask: <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
      question().catch((error: unknown) => {
        throw failure(error)
      }),
  }
}

/** Returns whether the prefix is empty or contains backups. Apart from access checks, the owner marker is the first object that is written. */
async function isFree(bucket: Bucket): Promise<boolean> {
  const root = bucket.keys.root
  if ((await readMarker(bucket, `${root}${ownerKey}`)) !== null) return true
  for await (const _ of namesBelow(bucket, `${root}${snapshotsKey}`)) return true
  for await (const found of namesBelow(bucket, root)) if (!['', partialKey].includes(found)) return false
  return true
}

/** Returns the operations that read and write the contents of a backup bucket. */
function contentsOf(reach: Reach): Pick<BackupPlace, 'clear' | 'snapshots' | 'blobs' | 'inventory' | 'find' | 'put' | 'remove'> {
  const { bucket, name, keyOf, ask, failure } = reach
  const blobs = () => withTranslatedErrors(requireSorted(storedBlobs(bucket), `The listing of ${name}`), failure)
  return {
    async clear() {
      for (const key of [snapshotsKey, blobsKey, partialKey]) await ask(() => abortUploads(bucket, keyOf(key)))
      await ask(() => removeBelow(bucket, keyOf(partialKey)))
    },
    async snapshots() {
      const names: string[] = []
      for await (const found of withTranslatedErrors(namesBelow(bucket, keyOf(snapshotsKey)), failure)) names.push(found.replace(/\/$/, ''))
      return names
    },
    blobs,
    // Compares sizes only. Reading every object again would be too expensive; `verify` detects corrupt objects.
    inventory() {
      const find = createLookup(blobs())
      return async ({ sha256, bytes }) => (await find(sha256))?.bytes === bytes
    },
    async find(key) {
      const facts = await ask(() => findFacts(bucket, keyOf(key)))
      if (!facts) return null
      const read = async () =>
        Readable.from(withTranslatedErrors(await ask(() => streamObject(bucket, facts)), failure), { objectMode: false })
      return { bytes: facts.bytes, read }
    },
    put: (key, source, expected) => put(reach, key, source, expected),
    remove: (key) => ask(() => (key.endsWith('/') ? removeBelow(bucket, keyOf(key)) : deleteObject(bucket, keyOf(key)))),
  }
}

/** Passes chunks of a stream through, and replaces a thrown error by the result of `failure`. */
async function* withTranslatedErrors<Chunk>(chunks: AsyncIterable<Chunk>, failure: (error: unknown) => Error): AsyncGenerator<Chunk> {
  try {
    yield* chunks
  } catch (error) {
    throw failure(error)
  }
}

/** Lists the blobs stored in the bucket. Objects whose keys are not blob keys are ignored. */
async function* storedBlobs(bucket: Bucket): AsyncGenerator<BlobFacts> {
  const root = bucket.keys.root
  for await (const { key, bytes } of listObjects(bucket, `${root}${blobsKey}`)) {
    const [, sha256] = /\/([0-9a-f]{64})$/.exec(key) ?? []
    if (sha256 && key === `${root}${blobKey(sha256)}`) yield { sha256, bytes }
  }
}

async function removeBelow(bucket: Bucket, prefix: string): Promise<void> {
  for await (const { key } of listObjects(bucket, prefix)) await deleteObject(bucket, key)
}

/** Uploads a stream. No object appears if the stream fails or does not match the expected size and checksum. */
async function put({ bucket, keyOf, failure }: Reach, key: string, source: Readable, expected: Measured): Promise<void> {
  let broken: Error | null = null
  const noted = (error: unknown) => (broken = error instanceof Error ? error : new Error(String(error)))
  const chunks = Readable.from(withTranslatedErrors(expecting(source, expected), noted), { objectMode: false })
  try {
    await upload(bucket, keyOf(key), chunks, expected)
  } catch (error) {
    throw broken ?? failure(error)
  } finally {
    source.destroy()
  }
}

/** Uploads an object and checks the stored size and hash. @throws Error when the stored object differs from what was sent. */
async function upload(bucket: Bucket, key: string, source: Readable, { bytes, sha256 }: Measured): Promise<void> {
  if (bytes <= partBytes) await uploadWhole(bucket, key, await buffer(source))
  else await uploadStream(bucket, key, source, bytes)
  const facts = await findFacts(bucket, key)
  if (facts?.bytes !== bytes || (facts.sha256 !== null && facts.sha256 !== sha256))
    throw new Error(`The object ${key} differs from the uploaded data.`)
}
