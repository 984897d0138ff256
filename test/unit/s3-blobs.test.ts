import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { openS3Blobs } from '../../server/blobs/s3/s3.ts'
import { bucketStore, pathOf, s3Config, type TestStore } from '../support/blob-stores.ts'
import { type S3Bucket, s3Bucket, type S3Fault } from '../support/s3-service.ts'

const noLimit = 1024 ** 3
const away = { code: 'ServiceUnavailable', status: 503 }
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
/** Two parts of an upload. */
const large = randomBytes(5.5 * 1024 ** 2)
const impatient = { S3_TIMEOUT_MS: '300' }

async function testBucket(env: Record<string, string> = {}) {
  const bucket = await s3Bucket()
  Object.assign(bucket.env, env)
  const blobs = await bucketStore(bucket)
  bucket.calls.length = 0
  return { bucket, blobs, [Symbol.asyncDispose]: () => bucket[Symbol.asyncDispose]() }
}

const stage = (blobs: TestStore, bytes: Buffer, name = 'one') => blobs.stage(name, Readable.from([bytes]), noLimit)

async function store(blobs: TestStore, bytes: Buffer) {
  const { sha256 } = await stage(blobs, bytes)
  await blobs.promote('one', sha256)
  return sha256
}

/** Lets the first calls of an operation fail. */
function failFirst(bucket: S3Bucket, operation: string, fault: S3Fault, times = 1) {
  let left = times
  bucket.fault = (call) => (call.operation === operation && left-- > 0 ? fault : null)
}

describe('uploads', () => {
  it('are sent in parts when they are large, each of which may be lost', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    let parts = 0
    bucket.fault = ({ operation }) => (operation === 'UploadPart' && ++parts % 2 ? 'lost' : null)
    expect(await stage(blobs, large)).toMatchObject({ bytes: large.length, sha256: hashOf(large) })
    expect((await buffer(await blobs.openStaged('one'))).equals(large)).toBe(true)
    expect(bucket.features.uploads.size).toBe(0)
  })

  it.each(['PutObject', 'CompleteMultipartUpload'])('have come when only the answer of %s was lost', async (operation) => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    const bytes = operation === 'PutObject' ? Buffer.from('small') : large
    failFirst(bucket, operation, 'lost')
    const { sha256 } = await stage(blobs, bytes)
    await blobs.promote('one', sha256)
    expect(await blobs.hash(sha256)).toBe(hashOf(bytes))
    expect(await blobs.files()).toEqual([sha256])
  })

  it.each<[string, S3Fault]>([
    ['CreateMultipartUpload', { status: 500, code: 'InternalError' }],
    ['UploadPart', { status: 500, code: 'InternalError' }],
    ['CompleteMultipartUpload', 'reset'],
    ['PutObject', 'silent'],
  ])('fail with 503 when %s keeps failing, and leave nothing once collected: %j', async (operation, fault) => {
    await using test = await testBucket(operation === 'PutObject' ? impatient : {})
    const { bucket, blobs } = test
    bucket.fault = (call) => ([operation, 'AbortMultipartUpload'].includes(call.operation) ? fault : null)
    await expect(stage(blobs, operation === 'PutObject' ? Buffer.from('small') : large)).rejects.toMatchObject(away)
    bucket.fault = () => null
    expect(bucket.features.uploads.size).toBe(/Part$|^Complete/.test(operation) ? 1 : 0)
    await blobs.collectStaged(new Date(Date.now() + 1000))
    expect(bucket.features.uploads.size).toBe(0)
    expect(await blobs.files()).toEqual([])
  })

  it('end at once when the client goes, and leave nothing', async () => {
    await using test = await testBucket()
    const broken = Readable.from(
      (async function* () {
        yield large
        throw new Error('the client went')
      })(),
    )
    await expect(test.blobs.stage('one', broken, noLimit)).rejects.toThrow('the client went')
    expect(test.bucket.features.uploads.size).toBe(0)
    await expect(test.blobs.stage('one', Readable.from([large]), 5_500_000)).rejects.toMatchObject({ code: 'PackageRejected' })
    expect(await test.blobs.files()).toEqual([])
  })

  it('are refused when other bytes arrive than were sent', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    bucket.fault = ({ operation }) => (operation === 'PutObject' ? 'corrupt' : null)
    // The service compares a checksum; where it does not, the bytes are read back.
    await expect(blobs.stageWhole('whole', Buffer.from('small'))).rejects.toMatchObject(away)
    const { sha256 } = await stage(blobs, Buffer.from('small'))
    await expect(blobs.promote('one', sha256)).rejects.toMatchObject(away)
    await expect(blobs.read(sha256)).rejects.toThrow('The stored bytes')
    bucket.fault = () => null
    expect(await store(blobs, Buffer.from('small'))).toBe(sha256)
    expect(String(await blobs.read(sha256))).toBe('small')
  })
})

describe('promoting', () => {
  it.each<[string, S3Fault]>([
    ['CopyObject', 'lost'],
    ['CopyObject', { status: 503, code: 'SlowDown' }],
    ['CopyObject', 'reset'],
    ['HeadObject', 'reset'],
    ['ListObjectsV2', 'reset'],
    ['DeleteObject', 'lost'],
  ])('gets over one %s that fails: %j', async (operation, fault) => {
    await using test = await testBucket()
    const { sha256 } = await stage(test.blobs, Buffer.from('bytes'))
    failFirst(test.bucket, operation, fault)
    await test.blobs.promote('one', sha256)
    expect(await test.blobs.files()).toEqual([sha256])
  })

  it('can be tried again whatever failed for good', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    for (const operation of ['CopyObject', 'HeadObject', 'ListObjectsV2', 'GetObject']) {
      const { sha256 } = await stage(blobs, Buffer.from(operation))
      bucket.fault = (call) => (call.operation === operation ? 'reset' : null)
      await expect(blobs.promote('one', sha256), operation).rejects.toMatchObject(away)
      bucket.fault = () => null
      await blobs.promote('one', sha256)
      expect(String(await blobs.read(sha256))).toBe(operation)
    }
  })

  it.each(['unknown', 'ignored'] as const)('works where conditions of writes are %s', async (conditionalWrites) => {
    await using test = await testBucket()
    test.bucket.features.conditionalWrites = conditionalWrites
    const sha256 = await store(test.blobs, Buffer.from('bytes'))
    expect(await store(test.blobs, Buffer.from('bytes'))).toBe(sha256)
    expect(await test.blobs.identify('one')).toBe('one')
    if (conditionalWrites === 'unknown') expect(await test.blobs.identify('other')).toBe('one')
    expect((await test.blobs.files()).toSorted()).toEqual([sha256, 'store-id'].toSorted())
  })

  it('does not count on listings that are late', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    await blobs.collectStaged(new Date(0))
    for await (const _ of blobs.list()) throw new Error('nothing is stored')
    bucket.features.listings = 'stale'
    const sha256 = await store(blobs, Buffer.from('bytes'))
    expect(String(await blobs.read(sha256))).toBe('bytes')
    expect(await blobs.has(sha256)).toBe(true)
    bucket.features.listings = 'current'
    for await (const one of blobs.list()) expect(one).toMatchObject({ sha256, bytes: 5 })
  })
})

describe('a removal at another instance', () => {
  it('never hits bytes that are published meanwhile', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    const other = await blobs.another()
    const sha256 = await store(blobs, Buffer.from('bytes'))
    const removal = { at: new Date(), before: new Date(Date.now() - 1000) }
    // Between any two calls of the removal, the bytes are published.
    const outcomes: string[] = []
    for (let moment = 0; moment < 4; moment++) {
      await blobs.age(pathOf(sha256))
      await stage(blobs, Buffer.from('bytes'))
      let seen = 0
      let outcome = ''
      bucket.fault = async () => {
        const publish = () => blobs.promote('one', sha256)
        if (seen++ === moment)
          outcome = await publish().then(
            () => 'published',
            () => 'refused',
          )
        return null
      }
      const removed = await other.remove(sha256, removal)
      bucket.fault = () => null
      outcomes.push(`${outcome}, ${removed === null ? 'kept' : 'removed'}`)
      // Whoever was told that it is published can read it; whoever was not tries again later.
      if (outcome === 'published') expect(String(await blobs.read(sha256))).toBe('bytes')
      else if (removed !== null) expect(await other.restore(sha256)).toBe(true)
    }
    expect(outcomes).toEqual(['published, kept', 'published, kept', 'refused, kept', 'refused, removed'])
  })
})

describe('reads', () => {
  it.each<[string, S3Fault]>([
    ['breaks off', { cutAfter: 300_000 }],
    ['falls silent', { stopAfter: 300_000 }],
    ['ends at once', { cutAfter: 0 }],
  ])('go on where an answer %s', async (_what, fault) => {
    await using test = await testBucket(typeof fault === 'object' && 'stopAfter' in fault ? { S3_TIMEOUT_MS: '500' } : {})
    const { bucket, blobs } = test
    const bytes = large.subarray(0, 1_000_000)
    const sha256 = await store(blobs, bytes)
    failFirst(bucket, 'GetObject', fault)
    expect((await buffer(await blobs.open(sha256))).equals(bytes)).toBe(true)
    failFirst(bucket, 'GetObject', fault, 2)
    expect((await buffer(await blobs.open(sha256, { start: 1000, end: 999_000 }))).equals(bytes.subarray(1000, 999_001))).toBe(true)
  })

  it('take a slow answer as it comes, and end with one that nobody reads on', async () => {
    await using test = await testBucket()
    const sha256 = await store(test.blobs, large.subarray(0, 300_000))
    test.bucket.fault = ({ operation }) => (operation === 'GetObject' ? { slowMs: 1 } : null)
    expect((await buffer(await test.blobs.open(sha256))).length).toBe(300_000)
    test.bucket.fault = ({ operation }) => (operation === 'GetObject' ? { stopAfter: 100 } : null)
    const stream = await test.blobs.open(sha256)
    stream.destroy()
    await new Promise((resolve) => stream.once('close', resolve))
  })

  it('answer 503 when the service is away, and 404 only when it says so', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    const sha256 = await store(blobs, Buffer.from('bytes'))
    for (const fault of ['reset', { status: 500, code: 'InternalError' }, { status: 403, code: 'AccessDenied' }] as S3Fault[]) {
      bucket.fault = () => fault
      for (const read of [() => blobs.open(sha256), () => blobs.read(sha256), () => blobs.has(sha256), () => blobs.identity()])
        await expect(read()).rejects.toMatchObject(away)
    }
    bucket.fault = () => null
    expect(String(await blobs.read(sha256))).toBe('bytes')
  })

  it('can be left to clients, by a link to the bytes that are there', async () => {
    await using test = await testBucket({ S3_PUBLIC_ENDPOINT: 'https://bucket.example' })
    const sha256 = await store(test.blobs, Buffer.from('bytes'))
    const link = new URL((await test.blobs.link(sha256, { seconds: 60, type: 'application/gzip' })) ?? '')
    expect(link.origin).toBe('https://bucket.example')
    expect(link.searchParams.get('X-Amz-Expires')).toBe('60')
    const answer = await fetch(`${test.bucket.env.S3_ENDPOINT}${link.pathname}${link.search}`)
    expect(await answer.text()).toBe('bytes')
    await test.blobs.write(pathOf(sha256), Buffer.from('others'))
    await expect(test.blobs.link(sha256, { seconds: 60, type: 'application/gzip' })).rejects.toThrow('The stored bytes')
    await expect(test.blobs.link('a'.repeat(64), { seconds: 60, type: 'x' })).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('the check at the start', () => {
  it.each<[string, string, S3Fault, RegExp]>([
    [
      'a bucket that is not there',
      'ListObjectsV2',
      { status: 404, code: 'NoSuchBucket' },
      /there is no bucket .* Make it, or correct S3_BUCKET/,
    ],
    ['another region', 'ListObjectsV2', { status: 301, code: 'PermanentRedirect' }, /not in the region us-east-1.*S3_REGION/],
    ['an unknown key', 'ListObjectsV2', { status: 403, code: 'InvalidAccessKeyId' }, /Correct S3_ACCESS_KEY_ID/],
    ['a wrong secret', 'ListObjectsV2', { status: 403, code: 'SignatureDoesNotMatch' }, /Correct S3_SECRET_ACCESS_KEY/],
    ['a wrong clock', 'ListObjectsV2', { status: 403, code: 'RequestTimeTooSkewed' }, /clock/],
    ['no right to list', 'ListObjectsV2', { status: 403, code: 'AccessDenied' }, /may not do s3:ListBucket/],
    ['no right to write', 'PutObject', { status: 403, code: 'AccessDenied' }, /may not do s3:PutObject/],
    ['no right to read', 'GetObject', { status: 403, code: 'AccessDenied' }, /may not do s3:GetObject/],
    ['no right to delete', 'DeleteObject', { status: 403, code: 'AccessDenied' }, /may not do s3:DeleteObject/],
    ['no right to list uploads', 'ListMultipartUploads', { status: 403, code: 'AccessDenied' }, /may not do s3:ListBucketMultipartUploads/],
    ['a service that is away', 'ListObjectsV2', 'reset', /does not answer at http:\/\/127/],
  ])('names %s', async (_what, operation, fault, message) => {
    await using bucket = await s3Bucket()
    bucket.fault = (call) => (call.operation === operation ? fault : null)
    await expect(openS3Blobs(s3Config(bucket))).rejects.toThrow(message)
  })

  it('compares the clocks', async () => {
    await using bucket = await s3Bucket()
    const date = new Date(Date.now() - 600_000).toUTCString()
    bucket.features.date = date
    await expect(openS3Blobs(s3Config(bucket))).rejects.toThrow(/clock of this machine is \d+ seconds ahead/)
  })

  it('leaves nothing behind, and does without what the service does not know', async () => {
    await using bucket = await s3Bucket()
    bucket.fault = ({ operation }) => (operation === 'ListMultipartUploads' ? { status: 501, code: 'NotImplemented' } : null)
    const blobs = await openS3Blobs(s3Config(bucket))
    expect(await blobs.collectStaged(new Date())).toBe(0)
    expect(await bucket.keys()).toEqual([])
  })
})
