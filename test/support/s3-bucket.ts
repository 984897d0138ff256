import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { bucketStore, type TestStore } from './blob-stores.ts'
import { type S3Bucket, s3Bucket, type S3Fault } from './s3-service.ts'

export const noLimit = 1024 ** 3
/** Response of a service that is unavailable. */
export const away = { code: 'ServiceUnavailable', status: 503 }
export const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
/** Large enough for a multipart upload with two parts. */
export const large: Buffer = randomBytes(5.5 * 1024 ** 2)

/** Opens an empty store in a new bucket and clears the recorded calls. */
export async function testBucket(env: Record<string, string> = {}) {
  const bucket = await s3Bucket()
  Object.assign(bucket.env, env)
  const blobs = await bucketStore(bucket)
  bucket.calls.length = 0
  return { bucket, blobs, [Symbol.asyncDispose]: () => bucket[Symbol.asyncDispose]() }
}

export const stage = (blobs: TestStore, bytes: Buffer, name = 'one') => blobs.stage(name, Readable.from([bytes]), noLimit)

/** Stages and promotes bytes and returns their hash. */
export async function store(blobs: TestStore, bytes: Buffer): Promise<string> {
  const { sha256 } = await stage(blobs, bytes)
  await blobs.promote('one', sha256)
  return sha256
}

/** Makes the first calls of an operation fail. */
export function failFirst(bucket: S3Bucket, operation: string, fault: S3Fault, times = 1): void {
  let left = times
  bucket.fault = (call) => (call.operation === operation && left-- > 0 ? fault : null)
}
