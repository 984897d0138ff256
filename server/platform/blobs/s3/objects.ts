import {
  CopyObjectCommand,
  type CopyObjectCommandInput,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { Readable } from 'node:stream'
import type { Bucket } from './bucket.ts'
import { failureOf, isMissingObject, isPrecondition, isUnsupported, missingObjectError } from './errors.ts'
import { setTimeout as sleep } from 'node:timers/promises'

/** Metadata of an object. `sha256` (hex) is null if the service did not compute it for the whole object. */
export type ObjectFacts = { key: string; etag: string; bytes: number; modifiedAt: Date; sha256: string | null }

/** Returns the metadata of an object. @throws Error ENOENT if it does not exist. */
export async function readFacts(bucket: Bucket, key: string): Promise<ObjectFacts> {
  const facts = await findFacts(bucket, key)
  if (!facts) throw missingObjectError()
  return facts
}

/** Returns the metadata of an object, or null if it does not exist. */
export async function findFacts(bucket: Bucket, key: string): Promise<ObjectFacts | null> {
  const request = new HeadObjectCommand({ Bucket: bucket.name, Key: key, ChecksumMode: 'ENABLED' })
  try {
    const head = await bucket.client.send(request, bucket.inTime())
    const { ETag = '', ContentLength = 0, LastModified = new Date(0), ChecksumSHA256 = '' } = head
    // The checksum of a multipart object is a hash of hashes, followed by the number of parts.
    const sha256 = /^[A-Za-z0-9+/]{43}=$/.test(ChecksumSHA256) ? Buffer.from(ChecksumSHA256, 'base64').toString('hex') : null
    return { key, etag: ETag, bytes: ContentLength, modifiedAt: LastModified, sha256 }
  } catch (error) {
    if (isMissingObject(error)) return null
    throw error
  }
}

/** Streams an object or a range of it (inclusive). Fails if the object changes in the meantime. */
export function streamObject(
  bucket: Bucket,
  { key, etag, bytes }: ObjectFacts,
  { start, ...range }: { start: number; end: number } = { start: 0, end: bytes - 1 },
): Promise<Readable> {
  const end = Math.min(range.end, bytes - 1)
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

/** Lists the objects whose keys have this prefix. */
export async function* listObjects(bucket: Bucket, prefix: string): AsyncGenerator<Pick<ObjectFacts, 'key' | 'bytes' | 'modifiedAt'>> {
  for await (const { Contents = [] } of pages(bucket, { Prefix: prefix }))
    for (const { Key, Size = 0, LastModified = new Date(0) } of Contents) if (Key) yield { key: Key, bytes: Size, modifiedAt: LastModified }
}

/** Lists the names directly below a prefix that ends in a slash. Names of folders end in a slash. */
export async function* namesBelow(bucket: Bucket, prefix: string): AsyncGenerator<string> {
  for await (const { Contents = [], CommonPrefixes = [] } of pages(bucket, { Prefix: prefix, Delimiter: '/' })) {
    for (const { Key = '' } of Contents) yield Key.slice(prefix.length)
    for (const { Prefix = '' } of CommonPrefixes) yield Prefix.slice(prefix.length)
  }
}

/** Yields the pages of a listing. The SDK's paginator would use one timeout for all pages. */
async function* pages(bucket: Bucket, listing: { Prefix: string; Delimiter?: string }) {
  for (let token: string | undefined; ;) {
    const request = new ListObjectsV2Command({ Bucket: bucket.name, ...listing, ...(token && { ContinuationToken: token }) })
    const page = await bucket.client.send(request, bucket.inTime())
    yield page
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

/** Number of consecutive interruptions without progress after which a download fails. */
const maxBreaks = 3
const pauseMs = 100

/** The requested byte range (inclusive), a function that requests the body from a position, and the read timeout in milliseconds. */
type Wanted = {
  start: number
  end: number
  ask: (position: number, signal: AbortSignal) => Promise<Readable>
  silentMs: number
}

/** Returns the body of a response as a stream. */
function bodyOf({ Body }: Pick<GetObjectCommandOutput, 'Body'>): Readable {
  if (Body instanceof Readable) return Body
  throw new Error('The storage service responded without a body')
}

/**
 * Streams bytes. If the body is interrupted or stalls, requests the rest and continues, so the client does not notice. Closing the stream aborts the
 * request.
 * @throws the error of the first `ask`.
 */
export async function streamBytes(wanted: Wanted): Promise<Readable> {
  if (wanted.end < wanted.start) return Readable.from([], { objectMode: false })
  const ended = new AbortController()
  const stream = Readable.from(resuming(await wanted.ask(wanted.start, ended.signal), wanted, ended.signal), { objectMode: false })
  stream.once('close', () => ended.abort())
  return stream
}

async function* resuming(first: Readable, { start, end, ask, silentMs }: Wanted, signal: AbortSignal): AsyncGenerator<Buffer> {
  let [position, breaks, body]: [number, number, Readable | null] = [start, 0, first]
  while (position <= end) {
    try {
      body ??= await ask(position, signal)
      for await (const chunk of withReadTimeout(body, silentMs)) {
        const wanted = chunk.subarray(0, end + 1 - position)
        position += wanted.length
        breaks = 0
        yield wanted
        // The service may send more than requested.
        if (wanted.length < chunk.length) return
      }
      if (position <= end) throw new Error(`The storage service sent ${position - start} bytes of ${end - start + 1}`)
    } catch (error) {
      if (++breaks >= maxBreaks || signal.aborted) throw failureOf(error)
      await sleep(pauseMs * breaks)
    }
    body = null
  }
}

/** Passes chunks through and destroys the body if no chunk arrives before the timeout. */
async function* withReadTimeout(body: Readable, silentMs: number): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  try {
    for (;;) {
      const timer = setTimeout(() => body.destroy(new Error(`Received no data for ${silentMs} ms`)), silentMs)
      const next = await chunks.next().finally(() => clearTimeout(timer))
      if (next.done) return
      yield next.value
    }
  } finally {
    body.destroy()
  }
}

/** Returns the id in the marker object that identifies the owner of a store, or null if there is no such object. */
export async function readMarker(bucket: Bucket, key: string): Promise<string | null> {
  try {
    const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key: key }), bucket.inTime())
    return (await Body?.transformToString())?.trim() ?? ''
  } catch (error) {
    if (isMissingObject(error)) return null
    throw error
  }
}

/**
 * Writes a marker object. Keeps an existing one unless `replace` is set.
 * @returns the id in the marker, which another instance may have written first.
 */
export async function writeMarker(bucket: Bucket, key: string, id: string, { replace }: { replace: boolean }): Promise<string> {
  if (replace) await put(bucket, key, id, {})
  else await putFirst(bucket, key, id)
  return (await readMarker(bucket, key)) ?? id
}

async function putFirst(bucket: Bucket, key: string, id: string): Promise<void> {
  if (bucket.lacks.conditionalWrites) {
    // Instances that share a database write the same id, so a race between them is harmless.
    if ((await readMarker(bucket, key)) === null) await put(bucket, key, id, {})
    return
  }
  try {
    await put(bucket, key, id, { IfNoneMatch: '*' })
  } catch (error) {
    if (isPrecondition(error)) return
    if (!isUnsupported(error)) throw error
    bucket.lacks.conditionalWrites = true
    await putFirst(bucket, key, id)
  }
}

async function put(bucket: Bucket, key: string, id: string, condition: { IfNoneMatch?: string }): Promise<void> {
  const request = { Bucket: bucket.name, Key: key, Body: Buffer.from(`${id}\n`), ChecksumAlgorithm: 'SHA256', ...condition } as const
  await bucket.client.send(new PutObjectCommand(request), bucket.inTime())
}
