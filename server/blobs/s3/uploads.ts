import { PutObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import pLimit from 'p-limit'
import { Readable } from 'node:stream'
import { factsOf, measure } from '../measured.ts'
import type { StoredBytes } from '../store.ts'
import type { Bucket } from './bucket.ts'
import { failureOf, reported } from './errors.ts'
import { findFacts } from './objects.ts'

/** What services take for the smallest part of an upload, and the greatest number of parts. */
export const partBytes: number = 5 * 1024 ** 2
const maxParts = 10_000
/** So many bytes go before an upload needs one of the places below. */
const smallBytes = 256 * 1024
/** So many uploads may collect the bytes of a part at once; each takes the memory of about four parts. */
const places = pLimit(8)

/**
 * Sends what comes, at most `limit` bytes of it, under a key that is used once, in parts that are sent again when one is lost; nothing of it is
 * seen before all is there. Parts that it leaves behind when the service fails are collected.
 * @throws what the source throws; archiveTooLarge; ApiError when the service fails.
 */
export async function uploadStream(bucket: Bucket, key: string, source: Readable, limit: number): Promise<StoredBytes> {
  const measured = measure(source, limit)
  const body = Readable.from(inPlace(measured.chunks))
  const upload = new Upload({
    client: bucket.client,
    queueSize: 1,
    partSize: Math.max(partBytes, Math.ceil(limit / maxParts)),
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

/** Sends bytes that are all there; the service compares them with their hash. */
export async function uploadWhole(bucket: Bucket, key: string, bytes: Buffer): Promise<StoredBytes> {
  const facts = factsOf(bytes)
  const request = {
    Bucket: bucket.name,
    Key: key,
    Body: bytes,
    ChecksumSHA256: Buffer.from(facts.sha256, 'hex').toString('base64'),
  }
  await reported(() => bucket.client.send(new PutObjectCommand(request), bucket.inTime()))
  return facts
}

/** Whether exactly these bytes came: keys are used once, and an object is there whole or not at all. */
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
