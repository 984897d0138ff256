import { PutObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import pLimit from 'p-limit'
import { Readable } from 'node:stream'
import { factsOf, measure } from '../measured.ts'
import type { StoredBytes } from '../store.ts'
import type { Bucket } from './bucket.ts'
import { failureOf, reported } from './errors.ts'
import { deleteObject, factsOf as objectFacts, findFacts, streamObject } from './objects.ts'

/** What services take for the smallest part of an upload. */
const partBytes = 5 * 1024 ** 2
/** So many bytes go before an upload needs one of the places below. */
const smallBytes = 256 * 1024
/** So many uploads may collect the bytes of a part at once; each takes the memory of about four parts. */
const places = pLimit(8)

/**
 * Sends what comes to the staging area, in parts that are sent again when one is lost; nothing of it is seen before all is there. What it leaves
 * behind when the service fails is collected.
 */
export async function stage(bucket: Bucket, name: string, source: Readable, limit: number): Promise<StoredBytes> {
  const key = bucket.keys.staged(name)
  const measured = measure(source, limit)
  const body = Readable.from(inPlace(measured.chunks))
  const upload = new Upload({
    client: bucket.client,
    queueSize: 1,
    partSize: partBytes,
    params: { Bucket: bucket.name, Key: key, Body: body, ChecksumAlgorithm: 'CRC32' },
  })
  try {
    await upload.done()
  } catch (error) {
    const ended = measured.failure()
    if (ended !== null) throw ended
    // The answer may have been lost: the last step of an upload in parts cannot be repeated.
    if (!(await isThere(bucket, key, measured.facts().bytes))) throw failureOf(error)
  } finally {
    body.destroy()
  }
  return measured.facts()
}

/** Sends bytes that are all there to the staging area. */
export async function stageWhole(bucket: Bucket, name: string, bytes: Buffer): Promise<StoredBytes> {
  const facts = factsOf(bytes)
  const request = {
    Bucket: bucket.name,
    Key: bucket.keys.staged(name),
    Body: bytes,
    ChecksumSHA256: Buffer.from(facts.sha256, 'hex').toString('base64'),
  }
  await reported(() => bucket.client.send(new PutObjectCommand(request), bucket.inTime()))
  return facts
}

/** Reads staged bytes; rejects with ENOENT when there are none. */
export async function openStaged(bucket: Bucket, name: string): Promise<Readable> {
  const key = bucket.keys.staged(name)
  return reported(async () => streamObject(bucket, await objectFacts(bucket, key)))
}

/** Removes staged bytes; nothing happens when there are none. */
export async function discard(bucket: Bucket, name: string): Promise<void> {
  const key = bucket.keys.staged(name)
  await reported(() => deleteObject(bucket, key))
}

/** Whether exactly these bytes came: names are used once, and an object is there whole or not at all. */
const isThere = (bucket: Bucket, key: string, bytes: number): Promise<boolean> =>
  findFacts(bucket, key).then(
    (facts) => facts?.bytes === bytes,
    () => false,
  )

/** Hands on what comes; more than a little only in one of the places. */
async function* inPlace(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [bytes, leave]: [number, (() => void) | null] = [0, null]
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > smallBytes) leave ??= await takePlace()
      yield chunk
    }
  } finally {
    leave?.()
  }
}

const takePlace = () => new Promise<() => void>((taken) => void places(() => new Promise<void>((leave) => taken(leave))))
