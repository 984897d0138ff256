import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Bucket } from '../../blobs/s3/bucket.ts'
import { abortUploads } from '../../blobs/s3/collect.ts'
import { deleteObject, findFacts, listObjects, namesBelow, streamObject } from '../../blobs/s3/objects.ts'
import { partBytes, uploadStream, uploadWhole } from '../../blobs/s3/uploads.ts'
import { expecting, type Measured } from './files.ts'
import { blobKey, blobsKey, partialKey, snapshotsKey } from './layout.ts'
import { inOrder, lookUpIn } from './lookup.ts'
import type { BackupPlace, BlobFacts } from './place.ts'

/** How a bucket is reached, and its errors are told. */
export type Reach = {
  bucket: Bucket
  name: string
  keyOf: (key: string) => string
  /** Does something with the bucket. @throws what `failure` makes of an error. */
  ask: <Answer>(question: () => Promise<Answer>) => Promise<Answer>
  failure: (error: unknown) => Error
}

type Contents = Pick<BackupPlace, 'clear' | 'snapshots' | 'blobs' | 'inventory' | 'find' | 'put' | 'remove'>

/** What is in a bucket for backups. */
export function contentsOf(reach: Reach): Contents {
  const { bucket, name, keyOf, ask, failure } = reach
  const blobs = () => told(inOrder(storedBlobs(bucket), `The listing of ${name}`), failure)
  return {
    async clear() {
      for (const key of [snapshotsKey, blobsKey, partialKey]) await ask(() => abortUploads(bucket, keyOf(key)))
      await ask(() => removeBelow(bucket, keyOf(partialKey)))
    },
    async snapshots() {
      const names: string[] = []
      for await (const found of told(namesBelow(bucket, keyOf(snapshotsKey)), failure)) names.push(found.replace(/\/$/, ''))
      return names
    },
    blobs,
    // Reading everything again would cost more than it tells: what is damaged there is found when it is verified.
    inventory() {
      const find = lookUpIn(blobs())
      return async ({ sha256, bytes }) => (await find(sha256))?.bytes === bytes
    },
    async find(key) {
      const facts = await ask(() => findFacts(bucket, keyOf(key)))
      if (!facts) return null
      const read = async () => Readable.from(told(await ask(() => streamObject(bucket, facts)), failure), { objectMode: false })
      return { bytes: facts.bytes, read }
    },
    put: (key, source, expected) => put(reach, key, source, expected),
    remove: (key) => ask(() => (key.endsWith('/') ? removeBelow(bucket, keyOf(key)) : deleteObject(bucket, keyOf(key)))),
  }
}

/** Hands on what comes, and makes another error of what is thrown. */
async function* told<Chunk>(chunks: AsyncIterable<Chunk>, failure: (error: unknown) => Error): AsyncGenerator<Chunk> {
  try {
    yield* chunks
  } catch (error) {
    throw failure(error)
  }
}

/** The stored blobs; objects whose key is not that of a blob are not ours. */
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

/** Sends what comes; nothing of it is seen when it breaks off, or when it is not what was expected. */
async function put({ bucket, keyOf, failure }: Reach, key: string, source: Readable, expected: Measured): Promise<void> {
  const broken: Error[] = []
  const noted = (error: unknown) => {
    const known = error instanceof Error ? error : new Error(String(error))
    broken.push(known)
    return known
  }
  try {
    await upload(bucket, keyOf(key), Readable.from(told(expecting(source, expected), noted), { objectMode: false }), expected)
  } catch (error) {
    throw broken[0] ?? failure(error)
  } finally {
    source.destroy()
  }
}

/** @throws Error when what the service has then is not what was sent. */
async function upload(bucket: Bucket, key: string, source: Readable, { bytes, sha256 }: Measured): Promise<void> {
  if (bytes <= partBytes) await uploadWhole(bucket, key, await buffer(source))
  else await uploadStream(bucket, key, source, bytes)
  const facts = await findFacts(bucket, key)
  if (facts?.bytes !== bytes || (facts.sha256 !== null && facts.sha256 !== sha256))
    throw new Error(`other bytes are at ${key} than were sent`)
}
