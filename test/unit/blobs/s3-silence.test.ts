import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { away, hashOf, stage, store, testBucket } from '../../support/s3-bucket.ts'

const bytes = Buffer.from('an archive')
/** Far below the 15 seconds that a call has, far above the two that a client may wait. */
const soonMs = 6000

/** How something fails, and that it does so soon. */
async function failsSoon(work: Promise<unknown>): Promise<void> {
  const begunAt = Date.now()
  await expect(work).rejects.toMatchObject(away)
  expect(Date.now() - begunAt).toBeLessThan(soonMs)
}

it('fails soon when the service takes connections and never answers, and works as soon as it does', async () => {
  await using test = await testBucket()
  const { bucket, blobs } = test
  const sha256 = await store(blobs, bytes)
  bucket.fault = () => 'silent'
  await Promise.all([failsSoon(blobs.has(sha256)), failsSoon(blobs.hash(sha256))])
  await failsSoon(stage(blobs, bytes))
  await failsSoon(blobs.has(sha256))
  bucket.fault = () => null
  expect(await blobs.has(sha256)).toBe(true)
  expect((await stage(blobs, bytes)).sha256).toBe(sha256)
})

it('does not begin an upload when nothing has been answered for a while, and nobody answers now', async () => {
  await using test = await testBucket()
  const { bucket, blobs } = test
  await stage(blobs, bytes)
  const puts = () => bucket.calls.filter(({ operation }) => operation === 'PutObject').length
  const before = puts()
  await sleep(2100)
  bucket.fault = () => 'silent'
  await failsSoon(stage(blobs, bytes))
  expect(puts()).toBe(before)
  bucket.fault = () => null
  await stage(blobs, bytes)
  expect(puts()).toBe(before + 1)
})

it('remembers an upload that got no answer in time', async () => {
  await using test = await testBucket({ S3_TIMEOUT_MS: '2500' })
  const { bucket, blobs } = test
  // Somebody just got an answer.
  await blobs.has(hashOf(bytes))
  bucket.fault = () => 'silent'
  await expect(stage(blobs, bytes)).rejects.toMatchObject(away)
  const puts = bucket.calls.filter(({ operation }) => operation === 'PutObject').length
  expect(puts, 'it is not tried again while nobody answers').toBe(1)
  await failsSoon(stage(blobs, bytes))
  expect(bucket.calls.filter(({ operation }) => operation === 'PutObject')).toHaveLength(puts)
})

it('waits for a service that is slow but there', async () => {
  await using test = await testBucket()
  const { bucket, blobs } = test
  const sha256 = await store(blobs, bytes)
  bucket.fault = ({ operation }) => (operation === 'HeadObject' ? sleep(2500, null) : null)
  expect(await blobs.has(sha256)).toBe(true)
  expect(await blobs.hash(sha256)).toBe(hashOf(bytes))
})

it('waits for one call that gets no answer while others do, as long as calls may take', async () => {
  await using test = await testBucket({ S3_TIMEOUT_MS: '1500' })
  const { bucket, blobs } = test
  const sha256 = await store(blobs, bytes)
  bucket.calls.length = 0
  let left = 1
  bucket.fault = ({ operation }) => (operation === 'HeadObject' && left-- > 0 ? 'silent' : null)
  expect(await blobs.has(sha256)).toBe(true)
  expect(bucket.calls.filter(({ operation }) => operation === 'HeadObject')).toHaveLength(2)
})
