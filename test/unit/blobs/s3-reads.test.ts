import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { streamBytes } from '../../../server/blobs/s3/body.ts'
import { openS3Blobs } from '../../../server/blobs/s3/s3.ts'
import { pathOf, s3Config } from '../../support/blob-stores.ts'
import { away, failFirst, large, store, testBucket } from '../../support/s3-bucket.ts'
import { s3Bucket, type S3Fault } from '../../support/s3-service.ts'

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

  it('take no more than was asked for from a service that sends endlessly', async () => {
    function* endlessly() {
      for (;;) yield Buffer.from('bytes')
    }
    const body = Readable.from(endlessly(), { objectMode: false })
    const stream = await streamBytes({ start: 0, end: 11, ask: async () => body, silentMs: 60_000 })
    expect(String(await buffer(stream))).toBe('bytesbytesby')
    expect(body.destroyed).toBe(true)
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
    const link = new URL((await test.blobs.link(sha256, { seconds: 60, name: 'a.tar.gz', type: 'application/gzip' })) ?? '')
    expect(link.origin).toBe('https://bucket.example')
    expect(link.searchParams.get('X-Amz-Expires')).toBe('60')
    const answer = await fetch(`${test.bucket.env.S3_ENDPOINT}${link.pathname}${link.search}`)
    expect(await answer.text()).toBe('bytes')
    await test.blobs.write(pathOf(sha256), Buffer.from('others'))
    await expect(test.blobs.link(sha256, { seconds: 60, name: 'a.tar.gz', type: 'application/gzip' })).rejects.toThrow('The stored bytes')
    await expect(test.blobs.link('a'.repeat(64), { seconds: 60, name: 'x', type: 'x' })).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('can be left to clients for as long as was said, by the clock of the service', async () => {
    await using test = await testBucket()
    const sha256 = await store(test.blobs, Buffer.from('bytes'))
    const date = new Date(Date.now() - 120_000)
    test.bucket.features.date = date.toUTCString()
    const link = new URL((await test.blobs.link(sha256, { seconds: 60, name: 'x', type: 'x' })) ?? '')
    const [day = '', time = ''] = link.searchParams.get('X-Amz-Date')?.split('T') ?? []
    const signedAt = Date.parse(`${day.replace(/(....)(..)/, '$1-$2-')}T${time.replace(/(..)(..)/, '$1:$2:')}`)
    expect(Math.abs(signedAt - date.getTime())).toBeLessThan(10_000)
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
