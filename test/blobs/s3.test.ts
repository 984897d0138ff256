import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { adopt } from '../../server/operations/admin/storage.ts'
import { collectArchives } from '../../server/platform/store/collect.ts'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { testApp } from '../app.ts'
import { documentVersion } from '../support/docs.ts'
import { writeDownloads } from '../support/downloads.ts'
import { runJobs } from '../support/jobs.ts'
import { makePublic, publicApp, setSwitch } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { type S3Bucket, s3Bucket } from '../support/s3-service.ts'
import { shaOf } from '../support/stored-blobs.ts'

const day = 86_400_000
const files = { 'lib/noise.bin': randomBytes(700_000) }

/** Starts a server whose archives are in a bucket. */
async function s3App(env: Record<string, string> = {}) {
  const bucket = await s3Bucket()
  const app = await publicApp({ env: { ...bucket.env, ...env } })
  return {
    app,
    bucket,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await bucket[Symbol.asyncDispose]()
    },
  }
}

/** Returns the keys in the bucket except the marker. */
const storedKeys = async (bucket: S3Bucket) => (await bucket.keys()).filter((key) => key !== 'store-id')
const keyOf = (archive: Buffer) => `sha256/${shaOf(archive).slice(0, 2)}/${shaOf(archive).slice(2, 4)}/${shaOf(archive)}`

it('keeps archives in a bucket from publishing to deletion', async () => {
  await using server = await s3App()
  const { app, bucket } = server
  app.clock.now = new Date()
  const [alice, admin] = [await app.member(), await app.admin()]
  const [small, large] = [
    await publish(alice, { name: 'acme', version: '1.0.0' }),
    await publish(alice, { name: 'acme', version: '1.1.0', files }),
  ]
  expect((await storedKeys(bucket)).toSorted()).toEqual([keyOf(small), keyOf(large)].toSorted())
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
  expect((await storedKeys(bucket)).map((key) => key.split('/')[0])).toEqual(['removed', 'removed'])
  app.clock.now = new Date(Date.now() + 8 * day)
  await collectGarbage(app.services)
  expect(await storedKeys(bucket)).toEqual([])
})

it('keeps documentation in the bucket and deletes it along with its version', async () => {
  await using server = await s3App({ SCORING_ENABLED: 'false' })
  const { app, bucket } = server
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  expect(await alice.get('/documentation/acme/1.0.0/index.json')).toMatchObject({ status: 200 })
  expect((await storedKeys(bucket)).length).toBe(2)
  await admin.delete('/api/admin/packages/acme')
  await runJobs(app)
  expect((await storedKeys(bucket)).map((key) => key.split('/')[0])).toEqual(['removed', 'removed'])
})

it('restores removed archives that a version refers to before they are deleted permanently', async () => {
  await using server = await s3App()
  const { app } = server
  const archive = await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  await app.services.blobs.remove(shaOf(archive), { at: new Date() })
  app.clock.now = new Date(Date.now() + 8 * day)
  await collectGarbage(app.services)
  expect((await app.services.blobs.read(shaOf(archive))).equals(archive)).toBe(true)
  expect(app.lines.join('')).toContain(`restored archive ${shaOf(archive)}: a version refers to it.`)
})

it('ties a bucket to one database until another one adopts it', async () => {
  await using server = await s3App()
  const { app, bucket } = server
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const another = () => testApp({ env: bucket.env })
  await expect(another()).rejects.toThrow(/^The archive store s3:\/\/bucket-.*adopt-store/s)
  await app.services.blobs.identify('of another database', { replace: true })
  await expect(
    collectArchives({ em: app.services.database.fork(), blobs: app.services.blobs, now: () => new Date(), say: () => {} }),
  ).rejects.toThrow('does not belong to this database')
  expect(await adopt({ em: app.services.database.fork(), config: app.config })).toMatch(
    /^The archive store s3:\/\/bucket-.* now belongs to this database/,
  )
  await app.stop()
  await using again = await testApp({ sameDatabaseAs: app })
  expect(await (await again.member()).get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 200 })
})

describe('downloads', () => {
  const path = (name: string) => `/api/archives/${name}-1.0.0.tar.gz`

  async function published(env: Record<string, string> = {}) {
    const server = await s3App(env)
    const alice = await server.app.member()
    const archives = {
      open: await publish(alice, { name: 'open', version: '1.0.0' }),
      secret: await publish(alice, { name: 'secret', version: '1.0.0' }),
    }
    await makePublic(server.app, 'open')
    return { ...server, alice, archives }
  }

  it('redirects public packages to the bucket with a link that expires in a minute', async () => {
    await using server = await published()
    const { app, alice, archives } = server
    for (const actor of [app.anonymous, alice]) {
      const { status, headers } = await actor.get(path('open'))
      expect({ status, headers }).toMatchObject({ status: 302, headers: { 'cache-control': 'no-store' } })
      const link = new URL(String(headers.location))
      expect(Number(link.searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(60)
      const answer = await fetch(link)
      expect(Buffer.from(await answer.arrayBuffer()).equals(archives.open)).toBe(true)
      // The link overrides the response headers, because browsers would name the file after its hash.
      expect(Object.fromEntries(link.searchParams)).toMatchObject({
        'response-content-type': 'application/gzip',
        'response-content-disposition': 'attachment; filename="open-1.0.0.tar.gz"',
        'response-cache-control': 'private, no-store',
      })
    }
    expect(await alice.get(path('open'), { headers: { 'if-none-match': `"${shaOf(archives.open)}"` } })).toMatchObject({ status: 304 })
    expect(await alice.get(path('open'), { headers: { range: 'bytes=5-9' } })).toMatchObject({ status: 302 })
    expect(await alice.get(path('open'), { headers: { range: 'bytes=999999-' } })).toMatchObject({ status: 416 })
    expect(await app.anonymous.head(path('open'))).toMatchObject({
      status: 200,
      headers: { 'content-length': String(archives.open.length), etag: `"${shaOf(archives.open)}"` },
    })
    await writeDownloads(app)
    expect((await alice.get('/api/packages/open/downloads')).body).toMatchObject({ downloads30d: 2 })
  })

  it('serves private packages itself unless signed downloads are enabled', async () => {
    await using streaming = await published({ S3_PUBLIC_REDIRECTS: 'false' })
    for (const name of ['open', 'secret'] as const) {
      const { status, raw } = await streaming.alice.get(path(name))
      expect({ status, isWhole: raw.equals(streaming.archives[name]) }).toEqual({ status: 200, isWhole: true })
    }
    expect(await streaming.app.anonymous.get(path('open'))).toMatchObject({ status: 200 })
    expect(await streaming.app.anonymous.get(path('secret'))).toMatchObject({ status: 401 })
    await using linking = await published({ S3_SIGNED_DOWNLOADS: 'true' })
    const { status, headers } = await linking.alice.get(path('secret'))
    expect(status).toBe(302)
    expect(Number(new URL(String(headers.location)).searchParams.get('X-Amz-Expires'))).toBeLessThanOrEqual(60)
    expect(await linking.app.anonymous.get(path('secret'))).toMatchObject({ status: 401 })
  })

  it('serves public packages itself while anonymous access is disabled', async () => {
    await using server = await published()
    const { app, alice } = server
    await setSwitch(app, false)
    expect(await alice.get(path('open'))).toMatchObject({ status: 200 })
    expect(await app.anonymous.get(path('open'))).toMatchObject({ status: 401 })
  })

  it('never redirects to an object that is not the archive', async () => {
    await using server = await published()
    const { app, bucket, archives } = server
    await bucket.write(keyOf(archives.open), Buffer.from('others'))
    expect(await app.anonymous.get(path('open'))).toMatchObject({ status: 503, body: { error: { code: 'ServiceUnavailable' } } })
    await bucket.write(keyOf(archives.open), archives.open)
    expect(await app.anonymous.get(path('open'))).toMatchObject({ status: 302 })
    // The archive was removed by mistake and is restored.
    await app.services.blobs.remove(shaOf(archives.open), { at: new Date() })
    expect(await app.anonymous.get(path('open'))).toMatchObject({ status: 302 })
    bucket.fault = () => 'reset'
    expect(await app.anonymous.get(path('open'))).toMatchObject({ status: 503 })
  })
})
