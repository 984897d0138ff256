import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { listingPath, mirrorClient, mirrorOf, mirrorUrl, passMinutes } from '../support/mirror.ts'
import { failWith } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const upstreamPath = listingPath('colors')
const path = `/mirror${upstreamPath}`

async function upstreamWithColors(...versions: string[]): Promise<Upstream> {
  const upstream = await Upstream.start()
  for (const version of versions) upstream.publish('colors', version)
  return upstream
}

describe('a mirrored listing', () => {
  it('keeps hashes, dates, pubspecs and the state of the package, with archive URLs of the mirror', async () => {
    const upstream = await upstreamWithColors('1.0.0', '1.1.0')
    upstream.publish('colors', '2.0.0-dev.1+3', { published: new Date('2025-05-06T07:08:09.123Z'), pubspec: { topics: ['größe'] } })
    upstream.retract('colors', '1.1.0')
    upstream.discontinue('colors', 'paint')
    upstream.advise('colors', { affected: ['1.0.0'] })
    await using app = await mirrorOf(upstream)
    const { status, headers, body } = await (await app.member()).get(path)
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/vnd.pub.v2+json; charset=utf-8' })
    const entry = async (version: string, published: string) => ({
      version,
      archive_url: `${mirrorUrl}/api/archives/colors-${version}.tar.gz`,
      archive_sha256: await upstream.version('colors', version).sha256(),
      pubspec: upstream.version('colors', version).pubspec,
      published: expect.stringContaining(published),
    })
    const first = await entry('1.0.0', '2024-01-15T09:30:00.123')
    expect(body).toEqual({
      name: 'colors',
      isDiscontinued: true,
      replacedBy: 'paint',
      advisoriesUpdated: expect.stringMatching(/^2025-03-04T05:06:07/),
      latest: first,
      versions: [
        first,
        { ...(await entry('1.1.0', '2024-01-15T09:30:00.123')), retracted: true },
        await entry('2.0.0-dev.1+3', '2025-05-06T07:08:09.123'),
      ],
    })
    expect(JSON.stringify(body)).not.toContain(upstream.url)
    await mirrorClient(await app.listen(), (await app.member()).secret).listing('colors')
  })

  it.each([
    { listed: ['1.0.0', '1.1.0', '2.0.0-dev'], retracted: [], latest: '1.1.0' },
    { listed: ['1.0.0', '1.1.0', '2.0.0-dev'], retracted: ['1.1.0'], latest: '1.0.0' },
    { listed: ['1.0.0', '2.0.0-a', '2.0.0-b'], retracted: ['1.0.0'], latest: '2.0.0-b' },
    { listed: ['1.0.0+1', '1.0.0+2'], retracted: [], latest: '1.0.0+2' },
    { listed: ['1.0.0'], retracted: ['1.0.0'], latest: undefined },
  ])('has the latest of $listed without $retracted by the rules of the client', async ({ listed, retracted, latest }) => {
    const upstream = await upstreamWithColors(...listed)
    for (const version of retracted) upstream.retract('colors', version)
    await using app = await mirrorOf(upstream)
    expect((await (await app.member()).get(path)).body.latest?.version).toBe(latest)
  })

  it('answers HEAD, conditional and compressed requests', async () => {
    const upstream = await upstreamWithColors('1.0.0')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const whole = await member.get(path)
    const zipped = await member.get(path, { headers: { 'accept-encoding': 'gzip' } })
    expect(zipped.headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(gunzipSync(zipped.raw).toString())).toEqual(whole.body)
    const unchanged = await member.get(path, { headers: { 'if-none-match': String(whole.headers.etag) } })
    expect({ status: unchanged.status, length: unchanged.raw.length }).toEqual({ status: 304, length: 0 })
    const head = await member.head(path)
    expect({ status: head.status, length: head.raw.length, etag: head.headers.etag }).toEqual({
      status: 200,
      length: 0,
      etag: whole.headers.etag,
    })
    upstream.publish('colors', '1.1.0')
    passMinutes(app, 11)
    const changed = await member.get(path, { headers: { 'if-none-match': String(whole.headers.etag) } })
    expect({ status: changed.status, latest: changed.body.latest.version }).toEqual({ status: 200, latest: '1.1.0' })
  })

  it('is compared with the upstream server by its ETag after UPSTREAM_TTL', async () => {
    const upstream = await upstreamWithColors('1.0.0')
    await using app = await mirrorOf(upstream, { env: { UPSTREAM_TTL: '120' } })
    const member = await app.member()
    const read = async () => (await member.get(path)).body.latest.version
    await read()
    upstream.publish('colors', '1.1.0')
    passMinutes(app, 1)
    expect(await read()).toBe('1.0.0')
    expect(upstream.count(upstreamPath)).toBe(1)
    passMinutes(app, 1.1)
    expect(await read()).toBe('1.1.0')
    passMinutes(app, 3)
    expect(await read()).toBe('1.1.0')
    const { requests } = upstream
    expect(requests.map(({ status }) => status)).toEqual([200, 200, 304])
    expect(requests.map(({ headers }) => typeof headers['if-none-match'])).toEqual(['undefined', 'string', 'string'])
    // The comparison holds for another UPSTREAM_TTL.
    passMinutes(app, 1)
    await read()
    expect(upstream.count(upstreamPath)).toBe(3)
  })

  it('is requested once for 20 concurrent clients', async () => {
    const upstream = await upstreamWithColors('1.0.0')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const { arrived, release } = upstream.hold(upstreamPath)
    const answers = Promise.all(Array.from({ length: 20 }, () => member.get(path)))
    await arrived
    release()
    expect(statuses(await answers)).toEqual(Array(20).fill(200))
    expect(upstream.count(upstreamPath)).toBe(1)
  })

  it('is sent from the cache and marked while the upstream server fails', async () => {
    const upstream = await upstreamWithColors('1.0.0')
    const now = new Date('2026-05-06T07:08:09.000Z')
    await using app = await mirrorOf(upstream, { now })
    const member = await app.member()
    const fresh = await member.get(path)
    expect(fresh.headers).not.toHaveProperty('warning')
    upstream.fail(upstreamPath, failWith(500))
    passMinutes(app, 11)
    const stale = await member.get(path)
    expect({ status: stale.status, body: stale.body }).toEqual({ status: 200, body: fresh.body })
    expect(stale.headers).toMatchObject({ warning: '110 - "Response is Stale"', 'x-mirror-checked': now.toISOString() })
    // The failure is remembered for a moment, so that a server that fails is not asked for every client.
    await member.get(path)
    expect(upstream.count(upstreamPath)).toBe(2)
    await upstream.stop()
    passMinutes(app, 11)
    expect((await member.get(path)).headers.warning).toBe('110 - "Response is Stale"')
    await upstream.listen()
    upstream.heal(upstreamPath)
    passMinutes(app, 1)
    expect((await member.get(path)).headers).not.toHaveProperty('warning')
  })

  it('is 503 with the reason if it is not in the cache and the upstream server fails', async () => {
    const upstream = await upstreamWithColors('1.0.0')
    upstream.fail(upstreamPath, failWith(500))
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const { status, headers, body } = await member.get(path)
    expect({ status, code: body.error.code }).toEqual({ status: 503, code: 'ServiceUnavailable' })
    expect(headers['retry-after']).toBeDefined()
    expect(body.error.message).toContain('status 500')
    upstream.heal(upstreamPath)
    passMinutes(app, 1)
    expect((await member.get(path)).status).toBe(200)
  })

  it('is 404 for a name that does not exist upstream, without a request per client', async () => {
    const upstream = await Upstream.start()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (let times = 0; times < 3; times++) {
      const { status, body } = await member.get(path)
      expect({ status, code: body.error.code }).toEqual({ status: 404, code: 'NotFound' })
    }
    expect(upstream.count(upstreamPath)).toBe(1)
    upstream.publish('colors', '1.0.0')
    passMinutes(app, 2)
    expect((await member.get(path)).status).toBe(200)
  })

  it('stays usable for a package that was removed upstream only until it is compared again', async () => {
    const upstream = await upstreamWithColors('1.0.0')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(path)
    upstream.remove('colors')
    expect((await member.get(path)).status).toBe(200)
    passMinutes(app, 11)
    expect((await member.get(path)).status).toBe(404)
  })

  it('is the same for an instance with empty caches', async () => {
    const upstream = await upstreamWithColors('1.0.0')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const before = await member.get(path)
    await app.stop()
    await using other = await testApp({ sameDatabaseAs: app })
    const after = await other.withToken(member.secret ?? '').get(path)
    expect({ body: after.body, etag: after.headers.etag }).toEqual({ body: before.body, etag: before.headers.etag })
    expect(upstream.count(upstreamPath)).toBe(1)
  })
})
