import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Bucket, openBucket } from '../../blobs/s3/bucket.ts'
import { abortUploads } from '../../blobs/s3/collect.ts'
import { readMarker, writeMarker } from '../../blobs/s3/marker.ts'
import { deleteObject, findFacts, listObjects, namesBelow, streamObject } from '../../blobs/s3/objects.ts'
import { bucketFailure } from '../../blobs/s3/problems.ts'
import { nameOfBucket } from '../../blobs/s3/settings.ts'
import { checkBucket } from '../../blobs/s3/start-check.ts'
import { partBytes, uploadStream, uploadWhole } from '../../blobs/s3/uploads.ts'
import type { BucketAddress } from '../../config/bucket-address.ts'
import { ApiError, conflict } from '../../errors.ts'
import { expecting, type Measured } from './files.ts'
import { blobKey, blobsKey, ownerKey, partialKey, snapshotsKey } from './layout.ts'
import { inOrder, lookUpIn } from './lookup.ts'
import type { BackupPlace, BlobFacts } from './place.ts'
import { type PlaceConfig, settingsOf, use } from './settings.ts'
import { bringFiles, draftOf } from './transfer.ts'

/** Backups in a bucket, below a prefix. Copies of the database pass through a folder of this machine. */
export function bucketPlace(config: PlaceConfig, address: BucketAddress): BackupPlace {
  const settings = settingsOf(config, address)
  const bucket = openBucket(settings)
  const keyOf = (key: string) => `${bucket.keys.root}${key}`
  const failure = (error: unknown) => bucketFailure(error instanceof ApiError ? (error.cause ?? error) : error, settings, use)
  /** Asks the service, and tells what goes wrong with it. */
  const ask = <Answer>(question: () => Promise<Answer>): Promise<Answer> =>
    question().catch((error: unknown) => {
      throw failure(error)
    })
  const name = nameOfBucket(settings)
  const check = async () => {
    if (!(await ask(() => isFree(bucket)))) throw conflict(`${name} has other objects. Name an empty prefix, or one with backups.`)
    await checkBucket(bucket, settings, use)
  }
  const place: BackupPlace = {
    name,
    nameOf: (key) => `${name}${key}`,
    check,
    prepare: check,
    async clear() {
      for (const key of [snapshotsKey, blobsKey, partialKey]) await ask(() => abortUploads(bucket, keyOf(key)))
      await place.remove(partialKey)
    },
    owner: () => ask(() => readMarker(bucket, keyOf(ownerKey))),
    claim: (id) => ask(() => writeMarker(bucket, keyOf(ownerKey), id, { replace: false })),
    async snapshots() {
      const names: string[] = []
      for await (const found of told(namesBelow(bucket, keyOf(snapshotsKey)), failure)) names.push(found.replace(/\/$/, ''))
      return names
    },
    blobs: () => told(inOrder(storedBlobs(bucket), `The listing of ${name}`), failure),
    inventory() {
      const find = lookUpIn(place.blobs())
      return async ({ sha256, bytes }) => (await find(sha256))?.bytes === bytes
    },
    async find(key) {
      const facts = await ask(() => findFacts(bucket, keyOf(key)))
      if (!facts) return null
      const read = async () => Readable.from(told(await ask(() => streamObject(bucket, facts)), failure), { objectMode: false })
      return { bytes: facts.bytes, read }
    },
    async put(key, source, expected) {
      let broken: unknown = null
      const bytes = told(expecting(source, expected), (error) => (broken = error))
      try {
        await upload(bucket, keyOf(key), Readable.from(bytes, { objectMode: false }), expected)
      } catch (error) {
        throw broken ?? failure(error)
      } finally {
        source.destroy()
      }
    },
    async remove(key) {
      if (!key.endsWith('/')) return ask(() => deleteObject(bucket, keyOf(key)))
      await ask(async () => {
        for await (const found of listObjects(bucket, keyOf(key))) await deleteObject(bucket, found.key)
      })
    },
    // What the service reports as done lasts.
    settle: async () => {},
    draft: (id) => draftOf(place, config.DATA_DIR, id),
    bring: (id, files) => bringFiles(place, config.DATA_DIR, { id, files }),
  }
  return place
}

/** Hands on what comes, and makes another error of what is thrown. */
async function* told<Chunk>(chunks: AsyncIterable<Chunk>, failure: (error: unknown) => unknown): AsyncGenerator<Chunk> {
  try {
    yield* chunks
  } catch (error) {
    throw failure(error)
  }
}

/** Whether there is nothing below the prefix, or backups. The owner comes before everything but what tries the bucket. */
async function isFree(bucket: Bucket): Promise<boolean> {
  const root = bucket.keys.root
  if ((await readMarker(bucket, `${root}${ownerKey}`)) !== null) return true
  for await (const _ of namesBelow(bucket, `${root}${snapshotsKey}`)) return true
  for await (const found of namesBelow(bucket, root)) if (!['', partialKey].includes(found)) return false
  return true
}

/** The stored blobs; objects whose key is not that of a blob are not ours. */
async function* storedBlobs(bucket: Bucket): AsyncGenerator<BlobFacts> {
  const root = bucket.keys.root
  for await (const { key, bytes } of listObjects(bucket, `${root}${blobsKey}`)) {
    const [, sha256] = /\/([0-9a-f]{64})$/.exec(key) ?? []
    if (sha256 && key === `${root}${blobKey(sha256)}`) yield { sha256, bytes }
  }
}

/** Sends what comes; nothing of it is seen when it breaks off. @throws Error when it is not what the service has then. */
async function upload(bucket: Bucket, key: string, source: Readable, { bytes, sha256 }: Measured): Promise<void> {
  if (bytes <= partBytes) await uploadWhole(bucket, key, await buffer(source))
  else await uploadStream(bucket, key, source, bytes)
  const facts = await findFacts(bucket, key)
  if (facts?.bytes !== bytes || (facts.sha256 !== null && facts.sha256 !== sha256))
    throw new Error(`other bytes are at ${key} than were sent`)
}
