import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { TestStore } from '../../support/blob-stores.ts'
import { away, hashOf, stage, store, testBucket } from '../../support/s3-bucket.ts'

const bytes = Buffer.from('an archive')
/** Maximum time to fail in milliseconds: less than the call timeout of 15 seconds, after which every call would fail. Usually it takes two seconds. */
const soonMs = 14_000

/** Expects the work to fail with 503 within `soonMs`. */
async function failsSoon(work: Promise<unknown>): Promise<void> {
  const begunAt = Date.now()
  await expect(work).rejects.toMatchObject(away)
  expect(Date.now() - begunAt).toBeLessThan(soonMs)
}

/** Repeats work until it succeeds. A probe of the silent service may still be running. */
async function recovers(work: () => Promise<unknown>): Promise<boolean> {
  const attempt = () =>
    work().then(
      () => true,
      () => false,
    )
  await expect.poll(attempt).toBe(true)
  return true
}

it('fails fast while the service accepts connections but never responds, and recovers with it', async () => {
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

it.each<[string, (blobs: TestStore) => Promise<unknown>]>([
  ['a small upload', (blobs) => stage(blobs, bytes)],
  ['an upload that is already received', (blobs) => blobs.stageWhole('staged-whole', bytes)],
  ['an upload in parts', (blobs) => stage(blobs, Buffer.alloc(12 * 1024 ** 2))],
])('abandons %s soon if the service stops responding right before it', async (_name, write) => {
  await using test = await testBucket()
  const { bucket, blobs } = test
  await blobs.has(hashOf(bytes))
  bucket.fault = () => 'silent'
  await failsSoon(write(blobs))
  await failsSoon(blobs.identify('id'))
  bucket.fault = () => null
  expect(await recovers(() => write(blobs))).toBe(true)
})

it('abandons the steps after an upload soon if the service stops responding between them', async () => {
  await using test = await testBucket()
  const { bucket, blobs } = test
  const { sha256 } = await blobs.stageWhole('staged', bytes)
  for (const stopping of ['CopyObject', 'HeadObject', 'GetObject', 'ListObjectsV2']) {
    let isSilent = false
    bucket.fault = ({ operation }) => {
      isSilent ||= operation === stopping
      return isSilent ? 'silent' : null
    }
    await failsSoon(blobs.promote('staged', sha256))
    bucket.fault = () => null
    await recovers(() => blobs.stageWhole('staged', bytes))
  }
  await blobs.promote('staged', sha256)
  expect(await blobs.hash(sha256)).toBe(sha256)
})

it('does not start an upload if the service has not responded for a while', async () => {
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

it('remembers an upload that timed out', async () => {
  await using test = await testBucket({ S3_TIMEOUT_MS: '2500' })
  const { bucket, blobs } = test
  // The service has responded recently.
  await blobs.has(hashOf(bytes))
  bucket.fault = () => 'silent'
  await expect(stage(blobs, bytes)).rejects.toMatchObject(away)
  const puts = bucket.calls.filter(({ operation }) => operation === 'PutObject').length
  expect(puts, 'it is not retried while the service does not respond').toBe(1)
  await failsSoon(stage(blobs, bytes))
  expect(bucket.calls.filter(({ operation }) => operation === 'PutObject')).toHaveLength(puts)
})

it('waits for a service that responds slowly', async () => {
  await using test = await testBucket()
  const { bucket, blobs } = test
  const sha256 = await store(blobs, bytes)
  bucket.fault = ({ operation }) => (operation === 'HeadObject' ? sleep(2500, null) : null)
  expect(await blobs.has(sha256)).toBe(true)
  expect(await blobs.hash(sha256)).toBe(hashOf(bytes))
})

it('waits until the timeout for a single call without a response', async () => {
  await using test = await testBucket({ S3_TIMEOUT_MS: '1500' })
  const { bucket, blobs } = test
  const sha256 = await store(blobs, bytes)
  bucket.calls.length = 0
  let left = 1
  bucket.fault = ({ operation }) => (operation === 'HeadObject' && left-- > 0 ? 'silent' : null)
  expect(await blobs.has(sha256)).toBe(true)
  expect(bucket.calls.filter(({ operation }) => operation === 'HeadObject')).toHaveLength(2)
})

it('does not take its own busy process for a silent service', async () => {
  await using test = await testBucket()
  const { blobs } = test
  const sha256 = await store(blobs, bytes)
  const progress = { isDone: false }
  const reads = Promise.all(Array.from({ length: 10 }, () => blobs.read(sha256))).finally(() => (progress.isDone = true))
  // Other work occupies the process longer than any limit, with one turn of the event loop in between.
  for (let turn = 0; turn < 40 && !progress.isDone; turn++) {
    for (const until = performance.now() + 1000; performance.now() < until;);
    await new Promise(setImmediate)
  }
  expect(await reads).toEqual(Array(10).fill(bytes))
})
