import { randomBytes } from 'node:crypto'
import { expect, it, vi } from 'vitest'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { testApp } from '../app.ts'
import { documentVersion } from '../support/docs.ts'
import { packageArchive } from '../support/archive.ts'
import { announce, finish, publish, sendBytes } from '../support/publish.ts'
import { type S3Bucket, s3Bucket, type S3Fault } from '../support/s3-service.ts'
import { shaOf } from '../support/stored-blobs.ts'

// Every call that fails permanently is tried three times.
vi.setConfig({ testTimeout: 120_000 })

const day = 86_400_000

const refused: S3Fault = { status: 500, code: 'InternalError' }

/** S3 calls of publishing a small, a streamed and a multipart archive, with the fault injected into each. */
const calls: [kind: keyof typeof sizes, operation: string, key: RegExp, fault: S3Fault][] = [
  ['small', 'PutObject', /^staging/, 'lost'],
  ['small', 'PutObject', /^staging/, refused],
  ['small', 'CopyObject', /^sha256/, 'lost'],
  ['small', 'CopyObject', /^sha256/, 'reset'],
  ['small', 'HeadObject', /^sha256/, refused],
  ['small', 'ListObjectsV2', /^$/, 'reset'],
  ['small', 'DeleteObject', /^staging/, 'lost'],
  ['streamed', 'PutObject', /^staging/, 'reset'],
  ['streamed', 'HeadObject', /^staging/, 'reset'],
  ['streamed', 'GetObject', /^staging/, refused],
  ['streamed', 'GetObject', /^sha256/, 'reset'],
  ['large', 'CompleteMultipartUpload', /^staging/, 'lost'],
]
const sizes = { small: 0, streamed: 600_000, large: 5.3 * 1024 ** 2 }

const archiveOf = (kind: keyof typeof sizes, version: string) =>
  packageArchive({ name: 'acme', version, files: { 'lib/noise.bin': randomBytes(sizes[kind]) } })

/** Makes all matching calls fail, including retries, and counts them. */
function failCalls(bucket: S3Bucket, operation: string, key: RegExp, fault: S3Fault) {
  let count = 0
  bucket.fault = (call) => {
    if (call.operation !== operation || !key.test(call.key)) return null
    count++
    return fault
  }
  return () => count
}

it.each(['small', 'streamed', 'large'])(
  'neither loses nor partially publishes nor leaks a %s archive, whichever call of the publish fails',
  async (size) => {
    await using bucket = await s3Bucket()
    await using app = await testApp({ env: bucket.env, now: new Date() })
    const alice = await app.member()
    const published = [await publish(alice, { name: 'acme', version: '1.0.0' })]
    const outcomes: Record<string, string> = {}
    for (const [index, [kind, operation, key, fault]] of calls.filter(([kind]) => kind === size).entries()) {
      const version = `2.${index}.0`
      const archive = await archiveOf(kind, version)
      const count = failCalls(bucket, operation, key, fault)
      const uploadId = await announce(alice)
      const sent = await sendBytes(alice, uploadId, archive)
      const first = sent.status === 302 ? await finish(alice, uploadId) : sent
      const failures = count()
      bucket.fault = () => null
      outcomes[`${index} ${operation}`] = `${failures > 0 ? 'failed' : 'never called'}, ${first.status}`
      const listed = (await alice.get('/api/packages/acme')).body.versions.map((one: { version: string }) => one.version)
      // An unacknowledged version does not exist and can be published again.
      expect({ version, isListed: listed.includes(version) }).toEqual({ version, isListed: first.status === 200 })
      if (first.status !== 200) expect([(await publish(alice, archive)).length, first.status]).toEqual([archive.length, 503])
      published.push(archive)
    }
    expect(Object.values(outcomes).filter((outcome) => outcome.startsWith('never'))).toEqual([])
    const { body } = await alice.get('/api/packages/acme')
    for (const [index, { archive_url, archive_sha256 }] of body.versions.entries()) {
      expect(archive_sha256).toBe(shaOf(published[index] ?? ''))
      expect((await alice.get(new URL(archive_url).pathname)).raw.equals(published[index] ?? Buffer.alloc(0))).toBe(true)
    }
    for (const days of [2, 10]) {
      app.clock.now = new Date(Date.now() + days * day)
      await collectGarbage(app.services)
    }
    expect((await bucket.keys()).filter((key) => key !== 'store-id').length).toBe(published.length)
    expect(bucket.features.uploads.size).toBe(0)
  },
)

it('logs why the bucket fails without revealing it to clients', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: bucket.env })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  for (const [path, operation, reason] of [
    ['/api/archives/acme-1.0.0.tar.gz', 'GetObject', /cannot be read: AccessDenied: A fault of the test/],
    ['/documentation/acme/1.0.0/index.json', 'GetObject', /cannot be read: AccessDenied: A fault of the test/],
    ['/documentation/acme/1.0.0/index.json', 'HeadObject', /cannot be read: .*with status 403/],
  ] as const) {
    failCalls(bucket, operation, /^sha256/, { status: 403, code: 'AccessDenied' })
    app.lines.length = 0
    const answer = await alice.get(path)
    expect(answer).toMatchObject({ status: 503, body: { error: { message: expect.stringContaining('cannot be reached') } } })
    expect(JSON.stringify(answer.body)).not.toMatch(/AccessDenied|403/)
    expect(app.lines).toContainEqual(expect.stringMatching(reason))
  }
})

it('answers 503 while the bucket is unreachable and recovers afterwards', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: bucket.env })
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0', files: { 'lib/noise.bin': randomBytes(400_000) } })
  bucket.fault = () => 'reset'
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({
    status: 503,
    headers: { 'retry-after': '30' },
    body: { error: { code: 'ServiceUnavailable', message: expect.stringContaining('cannot be reached') } },
  })
  expect((await app.anonymous.get('/api/v1/health')).body).toMatchObject({
    status: 'degraded',
    checks: { blob_store: { status: 'error' }, metadata_store: { status: 'ok' } },
  })
  expect(await app.anonymous.get('/readyz')).toMatchObject({ status: 200 })
  bucket.fault = () => null
  expect((await alice.get('/api/archives/acme-1.0.0.tar.gz')).raw.equals(archive)).toBe(true)
  const { body } = await (await app.admin()).graphql('{ selfCheck { storage { backend path problem freeBytes } } }')
  expect(body.data.selfCheck.storage).toEqual({
    backend: 's3',
    path: `s3://${bucket.env.S3_BUCKET}/`,
    problem: null,
    freeBytes: null,
  })
})
