import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { crc32c, encodeCrc32c } from '../../server/platform/blobs/measured.ts'
import { statuses } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { archivePath, mirrorClient, mirrorOf, mirrorUrl, passMinutes } from '../support/mirror.ts'
import { pauseAfter } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const upstreamPath = archivePath('colors', '1.0.0')
const path = `/mirror${upstreamPath}`

async function upstreamWithColors(files: Record<string, Buffer> = {}): Promise<Upstream> {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0', { files })
  return upstream
}

const mirrorFiles = async ({ services }: TestApp) =>
  services.database.fork().execute<{ sha256: string }[]>("select sha256 from mirror_entries where kind = 'archive' and sha256 is not null")

describe.each([
  ['small', {}],
  ['large', { 'lib/noise.bin': randomBytes(700_000) }],
])('a %s mirrored archive', (_size, files) => {
  it('is fetched once and then sent from the store', async () => {
    const upstream = await upstreamWithColors(files)
    const archive = await upstream.version('colors', '1.0.0').archive()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (let times = 0; times < 3; times++) {
      const { status, headers, raw } = await member.get(path, { headers: { 'accept-encoding': 'gzip' } })
      expect({ status, type: headers['content-type'], length: headers['content-length'] }).toEqual({
        status: 200,
        type: 'application/gzip',
        length: String(archive.length),
      })
      expect(headers['content-encoding']).toBeUndefined()
      expect(raw.equals(archive)).toBe(true)
    }
    expect(upstream.count(upstreamPath)).toBe(1)
    expect(await mirrorFiles(app)).toEqual([{ sha256: await upstream.version('colors', '1.0.0').sha256() }])
    const { headers } = await member.get(path)
    expect(headers).toMatchObject({
      etag: `"${await upstream.version('colors', '1.0.0').sha256()}"`,
      'x-goog-hash': `crc32c=${encodeCrc32c(crc32c(archive))}`,
    })
  })

  it('is answered to HEAD, conditional and range requests, cached or not', async () => {
    const upstream = await upstreamWithColors(files)
    const archive = await upstream.version('colors', '1.0.0').archive()
    const sha256 = await upstream.version('colors', '1.0.0').sha256()
    for (const warm of [false, true]) {
      await using app = await mirrorOf(upstream)
      const member = await app.member()
      if (warm) await member.get(path)
      const part = await member.get(path, { headers: { range: 'bytes=10-99' } })
      expect({ status: part.status, range: part.headers['content-range'] }).toEqual({ status: 206, range: `bytes 10-99/${archive.length}` })
      expect(part.raw.equals(archive.subarray(10, 100))).toBe(true)
      expect((await member.get(path, { headers: { range: `bytes=${archive.length}-` } })).status).toBe(416)
      expect((await member.get(path, { headers: { 'if-none-match': `"${sha256}"` } })).status).toBe(304)
      const head = await member.head(path)
      expect({ status: head.status, length: head.headers['content-length'], body: head.raw.length }).toEqual({
        status: 200,
        length: String(archive.length),
        body: 0,
      })
    }
  })
})

describe('mirrored archives', () => {
  it('are at the former paths and at encoded ones', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0-dev.1+2')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const former of ['packages/colors/versions/1.0.0-dev.1+2.tar.gz', 'api/packages/colors/versions/1.0.0-dev.1+2/archive.tar.gz']) {
      const { status, headers } = await member.get(`/mirror/${former}`)
      expect({ status, location: headers.location }).toEqual({
        status: 303,
        location: expect.stringContaining(`${mirrorUrl}/api/archives/colors-`),
      })
    }
    const archive = await upstream.version('colors', '1.0.0-dev.1+2').archive()
    for (const version of ['1.0.0-dev.1+2', '1.0.0-dev.1%2B2'])
      expect((await member.get(`/mirror${archivePath('colors', version)}`)).raw.equals(archive), version).toBe(true)
    expect((await mirrorClient(await app.listen(), member.secret).download('colors', '1.0.0-dev.1+2')).equals(archive)).toBe(true)
  })

  it('are requested once for 20 concurrent clients', async () => {
    const upstream = await upstreamWithColors({ 'lib/noise.bin': randomBytes(300_000) })
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const { arrived, release } = upstream.hold(upstreamPath)
    const answers = Promise.all(Array.from({ length: 20 }, () => member.get(path)))
    await arrived
    release()
    const received = await answers
    expect(statuses(received)).toEqual(Array(20).fill(200))
    const archive = await upstream.version('colors', '1.0.0').archive()
    expect(received.every(({ raw }) => raw.equals(archive))).toBe(true)
    expect(upstream.count(upstreamPath)).toBe(1)
  })

  it('are sent while they are being fetched', async () => {
    const upstream = await upstreamWithColors({ 'lib/noise.bin': randomBytes(700_000) })
    const archive = await upstream.version('colors', '1.0.0').archive()
    const { fault, started, release } = pauseAfter(500_000)
    upstream.fail(upstreamPath, fault)
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const address = await app.listen()
    const response = await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${member.secret}` } })
    const reader = response.body?.getReader()
    await started
    const first = await reader?.read()
    expect(first?.value?.length).toBeGreaterThan(0)
    expect(await mirrorFiles(app)).toEqual([])
    release()
    const rest: Uint8Array[] = [first?.value ?? new Uint8Array()]
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) rest.push(next.value)
    expect(Buffer.concat(rest).equals(archive)).toBe(true)
  })

  it('are fetched to the end if the client goes away', async () => {
    const upstream = await upstreamWithColors({ 'lib/noise.bin': randomBytes(700_000) })
    const { fault, started, release } = pauseAfter(300_000)
    upstream.fail(upstreamPath, fault)
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${member.secret}` }
    const response = await fetch(`${await app.listen()}${path}`, { headers, signal: leaving.signal })
    await started
    leaving.abort()
    await expect(response.arrayBuffer()).rejects.toThrow()
    release()
    await expect.poll(() => mirrorFiles(app)).toHaveLength(1)
    expect((await member.get(path)).raw.equals(await upstream.version('colors', '1.0.0').archive())).toBe(true)
    expect(upstream.count(upstreamPath)).toBe(1)
  })

  it('remain available when their version or package is removed upstream', async () => {
    const upstream = await upstreamWithColors()
    const archive = await upstream.version('colors', '1.0.0').archive()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(path)
    upstream.remove('colors')
    passMinutes(app, 60 * 24)
    expect((await member.get(path)).raw.equals(archive)).toBe(true)
    expect((await member.get(`/mirror${archivePath('colors', '2.0.0')}`)).status).toBe(404)
    expect(upstream.count(archivePath('colors', '2.0.0'))).toBe(0)
  })

  it('are fetched again if their file is missing from the store', async () => {
    const upstream = await upstreamWithColors({ 'lib/noise.bin': randomBytes(700_000) })
    await using app = await mirrorOf(upstream, { alone: true })
    const member = await app.member()
    await member.get(path)
    const store = await app.services.state.sideStores?.get('mirror')
    await store?.remove(await upstream.version('colors', '1.0.0').sha256(), { at: new Date() })
    await app.stop()
    await using restarted = await testApp({ sameDatabaseAs: app })
    const again = await restarted.withToken(member.secret ?? '').get(path)
    expect(again.raw.equals(await upstream.version('colors', '1.0.0').archive())).toBe(true)
    expect(upstream.count(upstreamPath)).toBe(2)
  })
})
