import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { sample } from '../support/metrics.ts'
import { announce, finish, publish, publishArchive, sendBytes, upload } from '../support/publish.ts'
import { s3Bucket } from '../support/s3-service.ts'

const METRICS_TOKEN = 'the token of the metrics'
const refused = (retryAfter: string, message: string) => ({
  status: 503,
  headers: { 'retry-after': retryAfter },
  body: { error: { code: 'ServiceUnavailable', message: expect.stringContaining(message) } },
})
const lowSpace = refused('60', 'low on disk space')

/** Expects 200 for reads that need no archive. */
async function expectReads(app: TestApp, alice: Actor): Promise<void> {
  for (const path of ['/readyz', '/healthz', '/livez', '/', '/packages/acme']) {
    expect([path, await app.anonymous.get(path)]).toMatchObject([path, { status: 200 }])
  }
  for (const path of ['/api/packages/acme', '/api/packages/acme/versions/1.0.0', '/api/auth/me', '/api/package-names']) {
    expect([path, await alice.get(path)]).toMatchObject([path, { status: 200 }])
  }
  const { body } = await alice.graphql('{ searchPackages(query: "acme", first: 1) { totalCount } package(name: "acme") { name } }')
  expect(body.data).toEqual({ searchPackages: { totalCount: 1 }, package: { name: 'acme' } })
}

const readHealth = async (app: TestApp) => {
  const { status, body } = await app.anonymous.get('/api/v1/health')
  const { metadata_store: database, blob_store: store } = body.checks
  return { status, health: body.status, database: database.status, store: store.status, storeMessage: store.message }
}

it('serves reads below MIN_FREE_BYTES, refuses archives at every step and reports the shortage', async () => {
  await using app = await testApp({ alone: true, env: { METRICS_TOKEN } })
  const { config } = app.services
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const archive = await packageArchive({ name: 'acme', version: '1.1.0' })
  const announced = await announce(alice)
  const sent = await upload(alice, await packageArchive({ name: 'acme', version: '1.2.0' }))
  const enough = config.MIN_FREE_BYTES
  config.MIN_FREE_BYTES = 2 ** 50

  await expectReads(app, alice)
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 200 })
  expect(await alice.get('/api/packages/versions/new')).toMatchObject(lowSpace)
  expect((await alice.graphql('mutation { createUpload { url } }')).body.errors).toMatchObject([
    { extensions: { code: 'ServiceUnavailable' } },
  ])
  expect(await sendBytes(alice, announced, archive)).toMatchObject(lowSpace)
  // The bytes of the upload are already stored, and other changes are small.
  expect(await finish(alice, sent)).toMatchObject({ status: 200 })
  expect(await alice.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })).toMatchObject({ status: 201 })
  const database = config.DB_BACKEND === 'sqlite' ? 'error' : 'ok'
  const storeMessage = expect.stringContaining('low on disk space')
  expect(await readHealth(app)).toEqual({ status: 503, health: 'degraded', database, store: 'error', storeMessage })
  expect(app.lines.filter((line) => /ERROR health: blob_store: .* fewer than MIN_FREE_BYTES/.test(line))).toHaveLength(1)
  const text = (await app.services.metrics?.text()) ?? ''
  expect(sample(text, 'snug_component_up', { component: 'blob_store' })).toBe(0)
  expect(sample(text, 'snug_component_up', { component: 'search_index' })).toBe(1)
  expect(sample(text, 'snug_free_bytes', { volume: 'archives' })).toBeGreaterThan(0)
  expect(sample(text, 'snug_min_free_bytes')).toBe(2 ** 50)

  config.MIN_FREE_BYTES = enough
  expect(await publishArchive(alice, archive)).toMatchObject({ status: 200 })
  expect(await readHealth(app)).toMatchObject({ status: 200, health: 'ok' })
  expect(app.lines.join('')).toContain('WARNING health: blob_store works again')
})

it('serves reads while the archive store is not writable and logs that once', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const staging = join(app.config.BLOB_PATH, 'staging')
  await rename(staging, `${staging}.away`)
  await expectReads(app, alice)
  for (let round = 0; round < 3; round++)
    expect(await readHealth(app)).toMatchObject({
      status: 503,
      database: 'ok',
      store: 'error',
      storeMessage: expect.not.stringContaining('ENOENT'),
    })
  expect(app.lines.filter((line) => line.includes('ERROR health: blob_store: Error: ENOENT'))).toHaveLength(1)
  await rm(staging, { recursive: true, force: true })
  await mkdir(staging)
  expect(await readHealth(app)).toMatchObject({ status: 200, store: 'ok' })
  expect(app.lines.join('')).toContain('WARNING health: blob_store works again')
})

it("refuses archives while the store's folder is missing and accepts them once it is back", async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const archive = await packageArchive({ name: 'acme', version: '1.1.0' })
  const announced = await announce(alice)
  const { BLOB_PATH } = app.config
  await rename(BLOB_PATH, `${BLOB_PATH}.away`)
  await expectReads(app, alice)
  expect(await alice.get('/api/packages/versions/new')).toMatchObject(refused('30', 'cannot be reached'))
  expect(await sendBytes(alice, announced, archive)).toMatchObject(refused('30', 'cannot be reached'))
  expect(await readHealth(app)).toMatchObject({ status: 503, database: 'ok', store: 'error' })
  await rename(`${BLOB_PATH}.away`, BLOB_PATH)
  expect(await publishArchive(alice, archive)).toMatchObject({ status: 200 })
  expect(await readHealth(app)).toMatchObject({ status: 200 })
})

it.each(['reset', 'silent'] as const)(
  'serves reads while the bucket is unreachable (%s) and refuses requests that need it',
  async (fault) => {
    await using bucket = await s3Bucket()
    await using app = await testApp({ env: { ...bucket.env, METRICS_TOKEN } })
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    const archive = await packageArchive({ name: 'acme', version: '1.1.0' })
    bucket.fault = () => fault
    await expectReads(app, alice)
    expect(await readHealth(app)).toMatchObject({ status: 503, health: 'degraded', database: 'ok', store: 'error' })
    const text = (await app.services.metrics?.text()) ?? ''
    expect(sample(text, 'snug_component_up', { component: 'blob_store' })).toBe(0)
    expect(sample(text, 'snug_component_up', { component: 'metadata_store' })).toBe(1)
    expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.any(String) },
    })
    expect(await sendBytes(alice, await announce(alice), archive)).toMatchObject(refused('30', 'cannot be reached'))
    bucket.fault = () => null
    expect(await publishArchive(alice, archive)).toMatchObject({ status: 200 })
  },
)

it('runs at most one write probe for many health requests', async () => {
  await using app = await testApp({ alone: true })
  const writes = () => app.queries.filter((sql) => sql.includes('insert into "write_probe"')).length
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 40 }, () => readHealth(app)))
  expect(writes()).toBe(1)
})
