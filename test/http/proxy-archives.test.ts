import { createHash, randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { storedAt } from '../../server/platform/blobs/store.ts'
import { testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { startNginx } from '../support/nginx.ts'
import { publish } from '../support/publish.ts'

const path = '/api/archives/acme-1.0.0.tar.gz'

/** Starts a server with a large archive that nginx sends. `by` requests it through nginx, `past` directly. */
async function serveThroughNginx() {
  const app = await testApp({ env: { ACCEL_REDIRECT_PREFIX: '/-/archives/' } })
  const instance = await app.listen()
  const address = `http://127.0.0.1:${await startNginx({ instances: [instance], blobs: app.config.BLOB_PATH })}`
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0', files: { 'lib/noise.bin': randomBytes(700_000) } })
  const stored = storedAt(sha256Of(archive))
  const authorization = `Bearer ${alice.secret}`
  const by = (headers: object = {}, method = 'GET') => read(address + path, { method, headers: { authorization, ...headers } })
  const past = (headers: object = {}, method = 'GET') => read(instance + path, { method, headers: { authorization, ...headers } })
  /** Returns the internal location that the server sends to nginx for the same request. */
  const place = async (headers: Record<string, string> = {}) =>
    (await alice.get(path, { headers: { 'x-forwarded-for': '203.0.113.9', ...headers } })).headers['x-accel-redirect']
  return { app, alice, archive, stored, address, by, past, place, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

async function read(url: string, request: RequestInit = {}) {
  const answer = await fetch(url, request)
  const sha256 = sha256Of(Buffer.from(await answer.arrayBuffer()))
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => !ofTheMoment.has(name)))
  return { status: answer.status, headers, sha256 }
}
const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const ofTheMoment = new Set(['date', 'server', 'connection', 'keep-alive', 'x-request-id', 'x-cache-status'])

it('answers through nginx as without it: whole, in ranges, by ETag and by HEAD', async () => {
  await using server = await serveThroughNginx()
  const { archive, stored, by, past, place } = server
  const [size, etag] = [archive.length, (await past()).headers.etag ?? '']
  const bySize = [`bytes=${size - 5}-`, `bytes=-${size + 100}`, `bytes=5-${size + 100}`].map((range) => ({ range }))
  const sentByNginx: Record<string, string>[] = [
    {},
    { 'accept-encoding': 'gzip' },
    { 'if-none-match': '"other"' },
    { 'if-modified-since': new Date(Date.now() + 60_000).toUTCString() },
    { range: 'bytes=0-0' },
    { range: 'bytes=0-9', 'if-range': etag },
    ...bySize,
  ]
  // Cases that nginx would answer differently, and answers without a body.
  const sentByServer: Record<string, string>[] = [
    { range: 'bytes=0-1,5-6' },
    { range: 'bytes=9-3' },
    { range: `bytes=${size}-` },
    { range: 'bytes=0-9', 'if-range': '"other"' },
    { 'if-match': '"other"' },
    { 'if-unmodified-since': new Date(0).toUTCString() },
    { 'if-none-match': etag },
    { 'if-none-match': '*', range: 'bytes=0-9' },
  ]
  for (const headers of [...sentByNginx, ...sentByServer]) {
    expect([headers, await by(headers)]).toEqual([headers, await past(headers)])
    expect([headers, await place(headers)]).toEqual([headers, sentByNginx.includes(headers) ? `/-/archives/${stored}` : undefined])
  }
  expect((await by()).sha256).toBe(sha256Of(archive))
  expect(await by({}, 'HEAD')).toEqual(await past({}, 'HEAD'))
})

it('counts downloads and checks permissions on every request', async () => {
  await using server = await serveThroughNginx()
  const { app, alice, stored, address, by } = server
  const downloads = async () => {
    await writeDownloads(app)
    return (await alice.get('/api/packages/acme/downloads')).body.downloads30d
  }
  await by()
  await by({ range: 'bytes=0-9' })
  await by({ range: 'bytes=10-19' })
  await by({}, 'HEAD')
  expect(await downloads()).toBe(2)
  const claims = { 'x-accel-redirect': `/-/archives/${stored}`, 'x-accel-expires': '3600', 'x-accel-mapping': '/=/' }
  for (const headers of [{}, claims]) {
    const refused = { status: 401, headers: { 'cache-control': 'private, no-store' } }
    expect(await read(address + path, { headers })).toMatchObject(refused)
    expect(await by({ ...headers, authorization: 'Bearer svc_pat_wrong' })).toMatchObject(refused)
    // The internal location is not accessible to clients.
    for (const inside of [`/-/archives/${stored}`, `/-/archives/../archives/${stored}`, `/api/archives/%2e%2e/%2e%2e/-/archives/${stored}`])
      expect((await read(address + inside, { headers })).status).toBe(404)
  }
  expect((await by(claims)).status).toBe(200)
})

it('serves small archives, other connections and damaged archives itself', async () => {
  await using server = await serveThroughNginx()
  const { app, alice, stored, by, past, place } = server
  await publish(alice, { name: 'small', version: '1.0.0' })
  const small = await alice.get('/api/archives/small-1.0.0.tar.gz', { headers: { 'x-forwarded-for': '203.0.113.9' } })
  expect(small.headers).not.toHaveProperty('x-accel-redirect')
  expect((await past()).headers).not.toHaveProperty('x-accel-redirect')
  app.config.ACCEL_REDIRECT_PREFIX = undefined
  expect(await place()).toBeUndefined()
  app.config.ACCEL_REDIRECT_PREFIX = '/-/archives/'
  await writeFile(join(app.config.BLOB_PATH, 'sha256', stored), 'other bytes')
  expect(await by()).toMatchObject({ status: 503, headers: { 'retry-after': '300' } })
  await rm(join(app.config.BLOB_PATH, 'sha256', stored))
  expect((await by()).status).toBe(503)
})
