import { createHash, randomBytes } from 'node:crypto'
import { readdir, readlink } from 'node:fs/promises'
import { get } from 'node:http'
import { describe, expect, it } from 'vitest'
import { crc32c, encodeCrc32c } from '../../server/platform/blobs/measured.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

/** A small archive fits into the cache; a large one is streamed. */
const sizes = [
  ['small', {}],
  ['large', { 'lib/noise.bin': randomBytes(700_000) }],
] as const

describe.each(sizes)('a %s archive', (_size, files) => {
  async function published(version = '1.0.0') {
    const app = await testApp()
    const alice = await app.member()
    const archive = await publish(alice, { name: 'acme', version, files })
    const sha256 = createHash('sha256').update(archive).digest('hex')
    return {
      app,
      alice,
      archive,
      etag: `"${sha256}"`,
      path: `/api/archives/acme-${version}.tar.gz`,
      [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
    }
  }

  it('is sent whole, with headers for clients and caches', async () => {
    await using server = await published()
    for (let times = 0; times < 2; times++) {
      const { status, headers, raw } = await server.alice.get(server.path, { headers: { 'accept-encoding': 'gzip' } })
      expect({ status, headers }).toMatchObject({
        status: 200,
        headers: {
          'content-type': 'application/gzip',
          'content-length': String(server.archive.length),
          'cache-control': 'private, immutable, max-age=31536000',
          etag: server.etag,
          'accept-ranges': 'bytes',
          'x-goog-hash': `crc32c=${encodeCrc32c(crc32c(server.archive))}`,
        },
      })
      expect(headers['content-encoding']).toBeUndefined()
      expect(raw.equals(server.archive)).toBe(true)
    }
  })

  it('is sent in ranges', async () => {
    await using server = await published()
    const { alice, archive, path } = server
    const size = archive.length
    const parts: [string, number, number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=10-99', 10, 99],
      [`bytes=${size - 5}-`, size - 5, size - 1],
      ['bytes=-7', size - 7, size - 1],
      [`bytes=-${size + 100}`, 0, size - 1],
      [`bytes=5-${size + 100}`, 5, size - 1],
      ['BYTES=3-4', 3, 4],
    ]
    for (const [range, start, end] of parts) {
      const answer = await alice.get(path, { headers: { range } })
      expect(answer).toMatchObject({
        status: 206,
        headers: { 'content-range': `bytes ${start}-${end}/${size}`, 'content-length': String(end - start + 1) },
      })
      expect(answer.raw.equals(archive.subarray(start, end + 1))).toBe(true)
    }
    for (const range of [`bytes=${size}-`, 'bytes=-0', `bytes=${size + 5}-${size + 6}`]) {
      expect(await alice.get(path, { headers: { range } })).toMatchObject({
        status: 416,
        headers: { 'content-range': `bytes */${size}` },
        body: { error: { code: 'InvalidInput' } },
      })
    }
    for (const range of ['bytes=0-1,5-6', 'bytes=9-3', 'lines=1-2', 'bytes=a-b', 'bytes=-', 'bytes=1']) {
      expect(await alice.get(path, { headers: { range } })).toMatchObject({ status: 200, headers: { 'content-length': String(size) } })
    }
  })

  it('evaluates conditional requests', async () => {
    await using server = await published()
    const { alice, path, etag } = server
    const ask = (headers: Record<string, string>) => alice.get(path, { headers })
    const fresh = await ask({ 'if-none-match': etag })
    expect(fresh).toMatchObject({ status: 304, headers: { etag } })
    expect(fresh.raw).toHaveLength(0)
    expect(await ask({ 'if-none-match': '"other"' })).toMatchObject({ status: 200 })
    expect(await ask({ 'if-range': etag, range: 'bytes=0-3' })).toMatchObject({ status: 206 })
    for (const condition of ['"other"', `W/${etag}`, new Date().toUTCString()]) {
      expect(await ask({ 'if-range': condition, range: 'bytes=0-3' })).toMatchObject({ status: 200 })
    }
    const head = await alice.head(path, { headers: { range: 'bytes=0-3' } })
    expect(head).toMatchObject({ status: 200, headers: { etag, 'content-length': String(server.archive.length) } })
    expect(head.raw).toHaveLength(0)
  })

  it('is found with + and %2B and at its former URLs', async () => {
    await using server = await published('1.0.0-dev.1+2')
    const { alice, archive } = server
    const location = 'http://localhost:8080/api/archives/acme-1.0.0-dev.1+2.tar.gz'
    for (const version of ['1.0.0-dev.1+2', '1.0.0-dev.1%2B2', '1.0.0-dev.1%2b2']) {
      expect((await alice.get(`/api/archives/acme-${version}.tar.gz`)).raw.equals(archive)).toBe(true)
      expect(await alice.get(`/packages/acme/versions/${version}.tar.gz`)).toMatchObject({ status: 303, headers: { location } })
      expect(await alice.get(`/api/packages/acme/versions/${version}/archive.tar.gz`)).toMatchObject({ status: 303, headers: { location } })
    }
  })
})

it('answers 404 for paths that are not archives', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  for (const file of [
    'acme-1.0.1.tar.gz',
    'other-1.0.0.tar.gz',
    'acme-1.0.0.zip',
    'acme.tar.gz',
    'acme-.tar.gz',
    '-1.0.0.tar.gz',
    '..%2f..%2fetc%2fpasswd',
    'acme-1.0.0.tar.gz%00',
    '%2e%2e-1.0.0.tar.gz',
    'acme-1.0.0.tar.gz.tar.gz',
  ]) {
    expect(await alice.get(`/api/archives/${file}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  }
  expect(await alice.get('/packages/acme/versions/1.0.0')).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })
  expect(await alice.get('/packages/acme/versions/nonsense.tar.gz')).toMatchObject({ status: 400 })
})

it('closes the file when the client disconnects', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'lib/noise.bin': randomBytes(4_000_000) } })
  const address = await app.listen()
  for (let times = 0; times < 20; times++) {
    await new Promise<void>((resolve) => {
      const request = get(
        `${address}/api/archives/acme-1.0.0.tar.gz`,
        { headers: { authorization: `Bearer ${alice.secret}` } },
        (response) => {
          response.once('data', () => request.destroy())
          response.on('error', () => {})
        },
      )
      request.on('error', () => {})
      request.on('close', () => resolve())
    })
  }
  await expect.poll(() => openFiles(app.config.BLOB_PATH)).toEqual([])
  expect(app.lines.filter((line) => line.includes('ERROR'))).toEqual([])
  expect((await alice.get('/api/archives/acme-1.0.0.tar.gz')).raw.length).toBeGreaterThan(4_000_000)
})

/** Returns the files below a folder that this process has open, from /proc. Linux only. */
async function openFiles(folder: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd').catch(() => [])
  const paths = await Promise.all(descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')))
  return paths.filter((path) => path.startsWith(folder))
}
