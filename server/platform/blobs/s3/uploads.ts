import { AbortMultipartUploadCommand, ListMultipartUploadsCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import pLimit from 'p-limit'
import { Readable } from 'node:stream'
import { measureBuffer, measure } from '../measured.ts'
import type { StoredBytes } from '../store.ts'
import type { Bucket } from './bucket.ts'
import { codeOf, failureOf, isUnsupported, reported } from './errors.ts'
import { deleteObject, findFacts, listObjects } from './objects.ts'

/** Minimum size of an upload part (5 MiB) and maximum number of parts, as S3 defines them. */
export const partBytes: number = 5 * 1024 ** 2
const maxParts = 10_000
/** Bytes that an upload may send before it needs one of the slots below. */
const smallBytes = 256 * 1024
/** Slots for uploads that buffer parts. Each one uses the memory of about four parts. */
const slots = pLimit(8)

/**
 * Uploads a stream of at most `limit` bytes in parts to a unique key. Failed parts are retried. The object becomes visible only when it is complete.
 * Parts left behind by a failing service are collected later.
 * @throws the error of the source; archiveTooLarge; ApiError if the service fails.
 */
export async function uploadStream(bucket: Bucket, key: string, source: Readable, limit: number): Promise<StoredBytes> {
  const measured = measure(source, limit)
  const body = Readable.from(inSlot(measured.chunks))
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
    // The response may have been lost: completing a multipart upload cannot be retried.
    if (bucket.isSilent() || !(await isThere(bucket, key, measured.facts().bytes))) throw failureOf(error)
  } finally {
    body.destroy()
  }
  return measured.facts()
}

/** Uploads a complete buffer. The service verifies its hash. */
export async function uploadWhole(bucket: Bucket, key: string, bytes: Buffer): Promise<StoredBytes> {
  const facts = measureBuffer(bytes)
  const request = { Bucket: bucket.name, Key: key, Body: bytes, ChecksumSHA256: Buffer.from(facts.sha256, 'hex').toString('base64') }
  await reported(() => bucket.client.send(new PutObjectCommand(request), bucket.inTime()))
  return facts
}

/** Returns whether the upload is complete. Keys are unique, and an object becomes visible only when it is complete. */
const isThere = (bucket: Bucket, key: string, bytes: number): Promise<boolean> =>
  findFacts(bucket, key).then(
    (facts) => facts?.bytes === bytes,
    () => false,
  )

/** Passes chunks through. Acquires a slot when more than a small amount has arrived. */
async function* inSlot(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [bytes, leave]: [number, (() => void) | null] = [0, null]
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > smallBytes) leave ??= await acquireSlot()
      yield chunk
    }
  } finally {
    leave?.()
  }
}

const acquireSlot = () => new Promise<() => void>((taken) => void slots(() => new Promise<void>((leave) => taken(leave))))

/** Deletes staged objects written before `before` and aborts multipart uploads started before then. Returns their number. */
export async function collectStaged(bucket: Bucket, before: Date): Promise<number> {
  let removed = 0
  for await (const { key, modifiedAt } of listObjects(bucket, bucket.keys.staging)) {
    if (modifiedAt >= before) continue
    await deleteObject(bucket, key)
    removed++
  }
  return removed + (await abortUploads(bucket, bucket.keys.staging, before))
}

/** Aborts multipart uploads to keys with this prefix that were started before `before`, or all if it is null. Returns their number. */
export async function abortUploads(bucket: Bucket, prefix: string, before: Date | null = null): Promise<number> {
  let aborted = 0
  for await (const { key, uploadId, initiatedAt } of listUploads(bucket, prefix)) {
    if (before !== null && initiatedAt >= before) continue
    const request = new AbortMultipartUploadCommand({ Bucket: bucket.name, Key: key, UploadId: uploadId })
    await bucket.client.send(request, bucket.inTime()).catch((error: unknown) => {
      // The upload has ended in the meantime.
      if (codeOf(error) !== 'NoSuchUpload') throw error
    })
    aborted++
  }
  return aborted
}

/** Lists unfinished multipart uploads. Services without this operation abort them automatically. */
async function* listUploads(bucket: Bucket, prefix: string) {
  let next: { KeyMarker?: string; UploadIdMarker?: string } = {}
  for (;;) {
    const request = new ListMultipartUploadsCommand({ Bucket: bucket.name, Prefix: prefix, ...next })
    const page = await bucket.client.send(request, bucket.inTime()).catch((error: unknown) => {
      if (isUnsupported(error)) return null
      throw error
    })
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? [])
      if (Key && UploadId && Initiated) yield { key: Key, uploadId: UploadId, initiatedAt: Initiated }
    if (!page?.IsTruncated || !page.NextKeyMarker) return
    next = { KeyMarker: page.NextKeyMarker, ...(page.NextUploadIdMarker && { UploadIdMarker: page.NextUploadIdMarker }) }
  }
}
