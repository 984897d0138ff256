import {
  CopyObjectCommand,
  type CopyObjectCommandInput,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import type { Readable } from 'node:stream'
import { bodyOf, streamBytes } from './body.ts'
import type { Bucket } from './bucket.ts'
import { isMissing, missing } from './errors.ts'

/** Metadata of an object. `sha256` (hex) is null if the service did not compute it for the whole object. */
export type ObjectFacts = { key: string; etag: string; bytes: number; modifiedAt: Date; sha256: string | null }

/** Returns the metadata of an object. @throws Error ENOENT if it does not exist. */
export async function factsOf(bucket: Bucket, key: string): Promise<ObjectFacts> {
  const facts = await findFacts(bucket, key)
  if (!facts) throw missing()
  return facts
}

/** Returns the metadata of an object, or null if it does not exist. */
export async function findFacts(bucket: Bucket, key: string): Promise<ObjectFacts | null> {
  const request = new HeadObjectCommand({ Bucket: bucket.name, Key: key, ChecksumMode: 'ENABLED' })
  try {
    const {
      ETag = '',
      ContentLength = 0,
      LastModified = new Date(0),
      ChecksumSHA256 = '',
    } = await bucket.client.send(request, bucket.inTime())
    // The checksum of a multipart object is a hash of hashes, followed by the number of parts.
    const sha256 = /^[A-Za-z0-9+/]{43}=$/.test(ChecksumSHA256) ? Buffer.from(ChecksumSHA256, 'base64').toString('hex') : null
    return { key, etag: ETag, bytes: ContentLength, modifiedAt: LastModified, sha256 }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Streams an object or a range of it (inclusive). Fails if the object changes in the meantime. */
export function streamObject(
  bucket: Bucket,
  { key, etag, bytes }: ObjectFacts,
  range: { start: number; end: number } = { start: 0, end: bytes - 1 },
): Promise<Readable> {
  const { start, end } = { start: range.start, end: Math.min(range.end, bytes - 1) }
  const request = { Bucket: bucket.name, Key: key, IfMatch: etag }
  return streamBytes({
    start,
    end,
    silentMs: bucket.timeoutMs,
    async ask(position, abortSignal) {
      const part = new GetObjectCommand({ ...request, Range: `bytes=${position}-${end}` })
      return bodyOf(await bucket.client.send(part, { abortSignal }))
    },
  })
}

/** Lists the objects whose keys have this prefix, in pages. */
export async function* listObjects(bucket: Bucket, prefix: string): AsyncGenerator<Pick<ObjectFacts, 'key' | 'bytes' | 'modifiedAt'>> {
  for (let token: string | undefined; ;) {
    const request = new ListObjectsV2Command({ Bucket: bucket.name, Prefix: prefix, ...(token && { ContinuationToken: token }) })
    const { Contents = [], NextContinuationToken } = await bucket.client.send(request, bucket.inTime())
    for (const { Key, Size = 0, LastModified = new Date(0) } of Contents) if (Key) yield { key: Key, bytes: Size, modifiedAt: LastModified }
    if (!NextContinuationToken) return
    token = NextContinuationToken
  }
}

/** Lists the names directly below a prefix that ends in a slash. Names of folders end in a slash. */
export async function* namesBelow(bucket: Bucket, prefix: string): AsyncGenerator<string> {
  for (let token: string | undefined; ;) {
    const request = { Bucket: bucket.name, Prefix: prefix, Delimiter: '/', ...(token && { ContinuationToken: token }) }
    const page = await bucket.client.send(new ListObjectsV2Command(request), bucket.inTime())
    for (const { Key = '' } of page.Contents ?? []) yield Key.slice(prefix.length)
    for (const { Prefix = '' } of page.CommonPrefixes ?? []) yield Prefix.slice(prefix.length)
    if (!page.NextContinuationToken) return
    token = page.NextContinuationToken
  }
}

/** Copies an object within the bucket. A single copy is limited to 5 GB, far more than the size of an archive. */
export async function copyObject(bucket: Bucket, from: string, to: string, how: Partial<CopyObjectCommandInput> = {}): Promise<void> {
  const CopySource = `${bucket.name}/${from}`.split('/').map(encodeURIComponent).join('/')
  // Makes the service compute the hash of the copy, if it can.
  const request = { Bucket: bucket.name, Key: to, CopySource, ChecksumAlgorithm: 'SHA256', ...how } as const
  await bucket.client.send(new CopyObjectCommand(request), bucket.inTime())
}

/** Deletes an object, if it exists. */
export async function deleteObject(bucket: Bucket, key: string): Promise<void> {
  await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: key }), bucket.inTime())
}
