import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { pathOf } from '../../support/blob-stores.ts'
import { away, failFirst, hashOf, large, noLimit, stage, store, testBucket } from '../../support/s3-bucket.ts'
import type { S3Fault } from '../../support/s3-service.ts'

const shortTimeout = { S3_TIMEOUT_MS: '300' }

describe('uploads', () => {
  it('sends large uploads in parts and retries lost ones', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    let parts = 0
    bucket.fault = ({ operation }) => (operation === 'UploadPart' && ++parts % 2 ? 'lost' : null)
    expect(await stage(blobs, large)).toMatchObject({ bytes: large.length, sha256: hashOf(large) })
    expect((await buffer(await blobs.openStaged('one'))).equals(large)).toBe(true)
    expect(bucket.features.uploads.size).toBe(0)
  })

  it.each(['PutObject', 'CompleteMultipartUpload'])('succeeds if only the response to %s is lost', async (operation) => {
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
  ])('fails with 503 if %s keeps failing, and leaves no files after collection: %j', async (operation, fault) => {
    await using test = await testBucket(operation === 'PutObject' ? shortTimeout : {})
    const { bucket, blobs } = test
    bucket.fault = (call) => ([operation, 'AbortMultipartUpload'].includes(call.operation) ? fault : null)
    await expect(stage(blobs, operation === 'PutObject' ? Buffer.from('small') : large)).rejects.toMatchObject(away)
    bucket.fault = () => null
    expect(bucket.features.uploads.size).toBe(/Part$|^Complete/.test(operation) ? 1 : 0)
    await blobs.collectStaged(new Date(Date.now() + 1000))
    expect(bucket.features.uploads.size).toBe(0)
    expect(await blobs.files()).toEqual([])
  })

  it('aborts immediately without leftovers if the client disconnects', async () => {
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

  it('rejects uploads that are corrupted in transit', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    bucket.fault = ({ operation }) => (operation === 'PutObject' ? 'corrupt' : null)
    // The service verifies a checksum. Otherwise, the bytes are read back.
    await expect(blobs.stageWhole('whole', Buffer.from('small'))).rejects.toMatchObject(away)
    const { sha256 } = await stage(blobs, Buffer.from('small'))
    await expect(blobs.promote('one', sha256)).rejects.toMatchObject(away)
    await expect(blobs.read(sha256)).rejects.toThrow('The stored bytes')
    bucket.fault = () => null
    expect(await store(blobs, Buffer.from('small'))).toBe(sha256)
    expect(String(await blobs.read(sha256))).toBe('small')
  })
})

describe('service without checksum support', () => {
  it('receives no checksums with S3_CHECKSUMS=false, and its objects are verified nevertheless', async () => {
    await using test = await testBucket({ S3_CHECKSUMS: 'false' })
    const { bucket, blobs } = test
    bucket.features.checksums = 'refused'
    for (const bytes of [Buffer.from('small'), large]) expect(await store(blobs, bytes)).toBe(hashOf(bytes))
    await blobs.stageWhole('whole', Buffer.from('whole'))
    await blobs.promote('whole', hashOf(Buffer.from('whole')))
    expect(String(await blobs.read(hashOf(Buffer.from('whole'))))).toBe('whole')
    expect(await blobs.identify('0199')).toBe('0199')

    bucket.fault = ({ operation }) => (operation === 'PutObject' ? 'corrupt' : null)
    await blobs.stageWhole('damaged', Buffer.from('damaged'))
    await expect(blobs.promote('damaged', hashOf(Buffer.from('damaged')))).rejects.toMatchObject(away)
  })

  it('rejects uploads with checksums', async () => {
    await using test = await testBucket()
    test.bucket.features.checksums = 'refused'
    await expect(store(test.blobs, Buffer.from('small'))).rejects.toThrow()
    await expect(test.blobs.stageWhole('whole', Buffer.from('whole'))).rejects.toThrow()
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
  ])('retries one failed %s: %j', async (operation, fault) => {
    await using test = await testBucket()
    const { sha256 } = await stage(test.blobs, Buffer.from('bytes'))
    failFirst(test.bucket, operation, fault)
    await test.blobs.promote('one', sha256)
    expect(await test.blobs.files()).toEqual([sha256])
  })

  it('can be repeated after any operation failed permanently', async () => {
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

  it.each(['unknown', 'ignored'] as const)('works if conditional writes are %s', async (conditionalWrites) => {
    await using test = await testBucket()
    test.bucket.features.conditionalWrites = conditionalWrites
    const sha256 = await store(test.blobs, Buffer.from('bytes'))
    expect(await store(test.blobs, Buffer.from('bytes'))).toBe(sha256)
    expect(await test.blobs.identify('one')).toBe('one')
    if (conditionalWrites === 'unknown') expect(await test.blobs.identify('other')).toBe('one')
    expect((await test.blobs.files()).toSorted()).toEqual([sha256, 'store-id'].toSorted())
  })

  it('does not rely on stale listings', async () => {
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

describe('removal by another instance', () => {
  it('does not remove blobs that are published concurrently', async () => {
    await using test = await testBucket()
    const { bucket, blobs } = test
    const other = await blobs.another()
    const sha256 = await store(blobs, Buffer.from('bytes'))
    const removal = { at: new Date(), before: new Date(Date.now() - 1000) }
    // Publishes the bytes between any two calls of the removal.
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
      // If publishing succeeds, the bytes are readable. Otherwise, the client retries later.
      if (outcome === 'published') expect(String(await blobs.read(sha256))).toBe('bytes')
      else if (removed !== null) expect(await other.restore(sha256)).toBe(true)
    }
    expect(outcomes).toEqual(['published, kept', 'published, kept', 'refused, kept', 'refused, removed'])
  })
})
