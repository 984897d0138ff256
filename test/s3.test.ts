import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { collectGarbage } from '../server/uploads/collect.ts'
import { testApp } from './app.ts'
import { runJobs } from './support/jobs.ts'
import { publish } from './support/publish.ts'
import { type S3Bucket, s3Bucket } from './support/s3-service.ts'
import { shaOf } from './support/stored.ts'

const day = 86_400_000
const files = { 'lib/noise.bin': randomBytes(700_000) }

/** A server whose archives are in a bucket. */
async function s3App(env: Record<string, string> = {}) {
  const bucket = await s3Bucket()
  const app = await testApp({ env: { ...bucket.env, ...env } })
  return {
    app,
    bucket,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await bucket[Symbol.asyncDispose]()
    },
  }
}

/** What the bucket has, but for the marker. */
const stored = async (bucket: S3Bucket) => (await bucket.keys()).filter((key) => key !== 'store-id')
const keyOf = (archive: Buffer) => `sha256/${shaOf(archive).slice(0, 2)}/${shaOf(archive).slice(2, 4)}/${shaOf(archive)}`

it('keeps archives in a bucket, from publishing to deleting', async () => {
  await using server = await s3App()
  const { app, bucket } = server
  app.clock.now = new Date()
  const [alice, admin] = [await app.member(), await app.admin()]
  const [small, large] = [
    await publish(alice, { name: 'acme', version: '1.0.0' }),
    await publish(alice, { name: 'acme', version: '1.1.0', files }),
  ]
  expect((await stored(bucket)).toSorted()).toEqual([keyOf(small), keyOf(large)].toSorted())
  const { body } = await alice.get('/api/packages/acme')
  expect(body.versions.map(({ archive_sha256 }: { archive_sha256: string }) => archive_sha256)).toEqual([shaOf(small), shaOf(large)])
  expect((await alice.get('/api/archives/acme-1.0.0.tar.gz')).raw.equals(small)).toBe(true)
  expect((await alice.get('/api/archives/acme-1.1.0.tar.gz')).raw.equals(large)).toBe(true)
  const part = await alice.get('/api/archives/acme-1.1.0.tar.gz', { headers: { range: 'bytes=100-199' } })
  expect(part).toMatchObject({ status: 206, headers: { 'content-length': '100' } })
  expect(part.raw.equals(large.subarray(100, 200))).toBe(true)
  expect(await app.anonymous.get('/readyz')).toMatchObject({ status: 200 })
  expect((await app.anonymous.get('/api/v1/health')).body.checks.blob_store).toMatchObject({ status: 'ok' })

  expect(await alice.put('/api/packages/acme/versions/1.0.0/options', { isRetracted: true })).toMatchObject({ status: 200 })
  expect(await admin.delete('/api/admin/packages/acme')).toMatchObject({ status: 200 })
  await runJobs(app)
  expect((await stored(bucket)).map((key) => key.split('/')[0])).toEqual(['removed', 'removed'])
  app.clock.now = new Date(Date.now() + 8 * day)
  await collectGarbage(app.services)
  expect(await stored(bucket)).toEqual([])
})
