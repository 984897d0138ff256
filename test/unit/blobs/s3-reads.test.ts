import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { streamBytes } from '../../../server/platform/blobs/s3/objects.ts'
import { openS3Blobs } from '../../../server/platform/blobs/s3/s3.ts'
import { pathOf, s3Config } from '../../support/blob-stores.ts'
import { away, failFirst, large, store, testBucket } from '../../support/s3-bucket.ts'
import { s3Bucket, type S3Fault } from '../../support/s3-service.ts'

describe('reads', () => {
  it.each<[string, S3Fault]>([
    ['is interrupted', { cutAfter: 300_000 }],
    ['stalls', { stopAfter: 300_000 }],
    ['ends immediately', { cutAfter: 0 }],
  ])('resumes a response that %s', async (_what, fault) => {
    await using test = await testBucket(typeof fault === 'object' && 'stopAfter' in fault ? { S3_TIMEOUT_MS: '500' } : {})
    const { bucket, blobs } = test
    const bytes = large.subarray(0, 1_000_000)
    const sha256 = await store(blobs, bytes)
    failFirst(bucket, 'GetObject', fault)
    expect((await buffer(await blobs.open(sha256))).equals(bytes)).toBe(true)
    failFirst(bucket, 'GetObject', fault, 2)
    expect((await buffer(await blobs.open(sha256, { start: 1000, end: 999_000 }))).equals(bytes.subarray(1000, 999_001))).toBe(true)
  })

  it('accepts slow responses, and closes responses that are no longer read', async () => {
    await using test = await testBucket()
    const sha256 = await store(test.blobs, large.subarray(0, 300_000))
    test.bucket.fault = ({ operation }) => (operation === 'GetObject' ? { slowMs: 1 } : null)
    expect((await buffer(await test.blobs.open(sha256))).length).toBe(300_000)
    test.bucket.fault = ({ operation }) => (operation === 'GetObject' ? { stopAfter: 100 } : null)
    const stream = await test.blobs.open(sha256)
    stream.destroy()
    await new Promise((resolve) => stream.once('close', resolve))
  })

  it('reads only the requested range from a service that sends endlessly', async () => {
    function* endlessly() {
      for (;;) yield Buffer.from('bytes')
    }
    const body = Readable.from(endlessly(), { objectMode: false })
    const stream = await streamBytes({ start: 0, end: 11, ask: async () => body, silentMs: 60_000 })
    expect(String(await buffer(stream))).toBe('bytesbytesby')
    expect(body.destroyed).toBe(true)
  })

  it('fails with 503 if the service is unavailable', async () => {
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

  it('returns a link with which clients download a blob', async () => {
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

  it('signs links with the clock of the service', async () => {
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

describe('startup check', () => {
  it.each<[string, string, S3Fault, RegExp]>([
    ['a missing bucket', 'ListObjectsV2', { status: 404, code: 'NoSuchBucket' }, /there is no bucket .* Create it, or correct S3_BUCKET/],
    ['another region', 'ListObjectsV2', { status: 301, code: 'PermanentRedirect' }, /not in the region us-east-1.*S3_REGION/],
    ['an unknown key', 'ListObjectsV2', { status: 403, code: 'InvalidAccessKeyId' }, /Correct S3_ACCESS_KEY_ID/],
    ['a wrong secret', 'ListObjectsV2', { status: 403, code: 'SignatureDoesNotMatch' }, /Correct S3_SECRET_ACCESS_KEY/],
    ['a wrong clock', 'ListObjectsV2', { status: 403, code: 'RequestTimeTooSkewed' }, /clock/],
    ['no permission to list', 'ListObjectsV2', { status: 403, code: 'AccessDenied' }, /may not do s3:ListBucket/],
    ['no permission to write', 'PutObject', { status: 403, code: 'AccessDenied' }, /may not do s3:PutObject/],
    ['no permission to read', 'GetObject', { status: 403, code: 'AccessDenied' }, /may not do s3:GetObject/],
    ['no permission to delete', 'DeleteObject', { status: 403, code: 'AccessDenied' }, /may not do s3:DeleteObject/],
    [
      'no permission to list uploads',
      'ListMultipartUploads',
      { status: 403, code: 'AccessDenied' },
      /may not do s3:ListBucketMultipartUploads/,
    ],
    ['an unreachable service', 'ListObjectsV2', 'reset', /does not answer at http:\/\/127/],
  ])('reports %s', async (_what, operation, fault, message) => {
    await using bucket = await s3Bucket()
    bucket.fault = (call) => (call.operation === operation ? fault : null)
    await expect(openS3Blobs(s3Config(bucket))).rejects.toThrow(message)
  })

  it('reports a clock difference', async () => {
    await using bucket = await s3Bucket()
    const date = new Date(Date.now() - 600_000).toUTCString()
    bucket.features.date = date
    await expect(openS3Blobs(s3Config(bucket))).rejects.toThrow(/clock of this machine is \d+ seconds ahead/)
  })

  it('leaves no objects behind, and tolerates unsupported operations', async () => {
    await using bucket = await s3Bucket()
    bucket.fault = ({ operation }) => (operation === 'ListMultipartUploads' ? { status: 501, code: 'NotImplemented' } : null)
    const blobs = await openS3Blobs(s3Config(bucket))
    expect(await blobs.collectStaged(new Date())).toBe(0)
    expect(await bucket.keys()).toEqual([])
  })
})
