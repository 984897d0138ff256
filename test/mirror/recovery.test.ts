import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rename, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { mirrorStore } from '../../server/registry/mirror/entries.ts'
import type { TestApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { archivePath, changePolicies, decisionsOf, listingPath, mirrorOf, passMinutes } from '../support/mirror.ts'
import { failWith } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const upstreamPath = listingPath('colors')
const path = `/mirror${upstreamPath}`
const archive = `/mirror${archivePath('colors', '1.0.0')}`

async function upstreamWithColors(): Promise<Upstream> {
  const upstream = await Upstream.start()
  for (const version of ['1.0.0', '1.1.0']) upstream.publish('colors', version)
  return upstream
}

/** Returns the SHA-256 of the stored listing, and removes it from the caches in memory. */
async function storedListing({ services, instances }: TestApp): Promise<string> {
  for (const instance of instances) instance.services.caches.mirror.clear()
  const [row] = await services.database
    .fork()
    .execute<{ sha256: string }[]>("select sha256 from mirror_entries where key = 'listing:colors'")
  return row?.sha256 ?? ''
}

describe('a listing in the mirror', () => {
  it('is not reported as missing upstream if its file is lost while the upstream server is away', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const { body } = await member.get(path)
    const store = await mirrorStore(app.services)
    await store.remove(await storedListing(app), { at: new Date() })
    await upstream.stop()
    expect((await member.get(path)).status).toBe(503)
    await upstream.listen()
    passMinutes(app, 1)
    expect(await member.get(path)).toMatchObject({ status: 200, body })
  })

  it('is kept while the store cannot be read', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const { body } = await member.get(path)
    const sha256 = await storedListing(app)
    const place = await (await mirrorStore(app.services)).place(sha256)
    const file = join(app.config.BLOB_PATH, 'mirror', 'sha256', place ?? '')
    await upstream.stop()
    // A folder in place of the file cannot be read, like a disk that fails.
    await rename(file, `${file}.kept`)
    await mkdir(file)
    expect((await member.get(path)).status).toBeGreaterThanOrEqual(500)
    await rm(file, { recursive: true })
    await rename(`${file}.kept`, file)
    expect(await member.get(path)).toMatchObject({ status: 200, body })
  })

  it('keeps the hash of archives in the mirror when it is fetched again after its deletion', async () => {
    const upstream = await upstreamWithColors()
    const first = await upstream.version('colors', '1.0.0').archive()
    const sha256 = await upstream.version('colors', '1.0.0').sha256()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(archive)
    await app.services.database.fork().execute("delete from mirror_entries where key = 'listing:colors'")
    const files = { 'lib/other.dart': '// other' }
    upstream.publish('colors', '1.0.0', { archive: await packageArchive({ name: 'colors', version: '1.0.0', files }) })
    const { body } = await member.get(path)
    expect(body.versions[0].archive_sha256).toBe(sha256)
    expect((await member.get(archive)).raw.equals(first)).toBe(true)
    expect(await decisionsOf(app)).toMatchObject([{ rule: 'changed_archive', package_name: 'colors', version: '1.0.0' }])
  })

  it('is not marked as stale right after the comparison, also without a lifetime', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream, { env: { UPSTREAM_TTL: '0' } })
    const member = await app.member()
    for (let times = 1; times <= 3; times++) {
      const { status, headers } = await member.get(path)
      expect({ status, warning: headers.warning, requests: upstream.count(upstreamPath) }).toEqual({ status: 200, requests: times })
    }
  })

  it('reports a bounded number of faults', async () => {
    const upstream = await Upstream.start()
    for (let patch = 0; patch < 30; patch++) upstream.publish('colors', `1.0.${patch}`)
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(path)
    for (let patch = 0; patch < 30; patch++) upstream.publish('colors', `1.0.${patch}`, { files: { 'lib/other.dart': '// other' } })
    passMinutes(app, 11)
    expect((await member.get(path)).status).toBe(200)
    expect(await decisionsOf(app)).toHaveLength(20)
  })
})

describe('policies', () => {
  it('do not use unknown licenses for longer than a moment', async () => {
    const upstream = await upstreamWithColors()
    Object.assign(upstream.package('colors'), { tags: ['license:mit'] })
    upstream.fail(`${upstreamPath}/score`, failWith(500))
    await using app = await mirrorOf(upstream)
    await changePolicies(app, { licenses: { mode: 'enforce', allow: ['mit'] } })
    const member = await app.member()
    expect((await member.get(path)).status).toBe(403)
    upstream.heal(`${upstreamPath}/score`)
    passMinutes(app, 1)
    expect((await member.get(path)).status).toBe(200)
  })

  it('apply a new advisory as soon as the upstream server sends it', async () => {
    const upstream = await upstreamWithColors()
    upstream.advise('colors', { id: 'GHSA-aaaa-bbbb-cccc', affected: ['1.0.0'], fixed: '1.1.0' })
    await using app = await mirrorOf(upstream)
    await changePolicies(app, { advisories: { mode: 'enforce', severity: 'low', unknownAs: 'critical' } })
    const member = await app.member()
    const versions = async () => (await member.get(path)).body.versions.map(({ version }: { version: string }) => version)
    expect(await versions()).toEqual(['1.1.0'])
    upstream.publish('colors', '1.2.0')
    passMinutes(app, 11)
    const modified = app.clock.now ?? new Date()
    upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.1.0'], fixed: '1.2.0', modified })
    upstream.fail(`${upstreamPath}/advisories`, failWith(500))
    expect(await versions()).toEqual(['1.1.0', '1.2.0'])
    upstream.heal(`${upstreamPath}/advisories`)
    passMinutes(app, 1)
    expect(await versions()).toEqual(['1.2.0'])
  })

  it('need no advisories of an upstream server that is away unless they enforce them', async () => {
    const upstream = await upstreamWithColors()
    upstream.advise('colors', { affected: ['1.0.0'] })
    upstream.fail(`${upstreamPath}/advisories`, failWith(500))
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await changePolicies(app, { advisories: { mode: 'audit' }, minimumAge: { mode: 'enforce' } })
    expect((await member.get(path)).status).toBe(200)
    await changePolicies(app, { advisories: { mode: 'enforce' } })
    expect((await member.get(path)).status).toBe(503)
  })

  it('refuse an archive whose version is no longer listed', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(archive)
    upstream.package('colors').versions.delete('1.0.0')
    passMinutes(app, 11)
    await member.get(path)
    expect((await member.get(archive)).status).toBe(200)
    await changePolicies(app, { packages: { mode: 'audit', deny: [{ name: 'colors', publisher: null, versions: '<1.1.0' }] } })
    expect((await member.get(archive)).status).toBe(200)
    await changePolicies(app, { packages: { mode: 'enforce' } })
    expect((await member.get(archive)).status).toBe(404)
  })
})

describe('the mirror', () => {
  it('does not let a client that reads slowly delay the archive for others', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0', { files: { 'lib/noise.bin': randomBytes(16 * 1024 ** 2) } })
    const archive = await upstream.version('colors', '1.0.0').archive()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const path = `/mirror${archivePath('colors', '1.0.0')}`
    const [slow] = (await once(
      get(`${await app.listen()}${path}`, { headers: { authorization: `Bearer ${member.secret}` } }),
      'response',
    )) as [IncomingMessage]
    expect((await member.get(path)).raw.equals(archive)).toBe(true)
    const chunks: Buffer[] = []
    for await (const chunk of slow as AsyncIterable<Buffer>) chunks.push(chunk)
    expect(Buffer.concat(chunks).equals(archive)).toBe(true)
    expect(upstream.count(archivePath('colors', '1.0.0'))).toBe(1)
  })

  it('fetches listings while archives take long', async () => {
    const upstream = await Upstream.start()
    const names = Array.from({ length: 16 }, (_, at) => `colors_${at}`)
    for (const name of [...names, 'shapes']) upstream.publish(name, '1.0.0')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const holds = names.map((name) => upstream.hold(archivePath(name, '1.0.0')))
    const archives = names.map((name) => member.get(`/mirror${archivePath(name, '1.0.0')}`))
    await Promise.all(holds.map(({ arrived }) => arrived))
    expect((await member.get(`/mirror${listingPath('shapes')}`)).status).toBe(200)
    for (const { release } of holds) release()
    for (const { status } of await Promise.all(archives)) expect(status).toBe(200)
  })

  it('does not wait for an upstream server that has just failed if it has the listing', async () => {
    const upstream = await Upstream.start()
    for (const name of ['colors', 'shapes']) upstream.publish(name, '1.0.0')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const name of ['colors', 'shapes']) await member.get(`/mirror${listingPath(name)}`)
    passMinutes(app, 11)
    const pace = { bytes: 1024, ms: 400 }
    app.services.state.upstreamTimes = { documentMs: 100, archiveHeadersMs: 100, archiveMs: 1000, pace }
    const holds = ['colors', 'shapes'].map((name) => upstream.hold(listingPath(name)))
    expect((await member.get(`/mirror${listingPath('colors')}`)).headers.warning).toContain('Stale')
    app.services.state.upstreamTimes.documentMs = 60_000
    const started = performance.now()
    const { status, headers } = await member.get(`/mirror${listingPath('shapes')}`)
    expect({ status, warning: headers.warning }).toEqual({ status: 200, warning: '110 - "Response is Stale"' })
    expect(performance.now() - started).toBeLessThan(2500)
    for (const { release } of holds) release()
    // The next answer shows that the upstream server is back.
    await expect.poll(async () => (await member.get(`/mirror${listingPath('shapes')}`)).headers.warning).toBeUndefined()
  })

  it('finds an upstream server whose name only this machine knows', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0')
    const env = { UPSTREAM_URL: upstream.url.replace('127.0.0.1', 'localhost'), DNS_SERVERS: '127.0.0.1:9' }
    await using app = await mirrorOf(upstream, { env })
    expect((await (await app.member()).get(`/mirror${listingPath('colors')}`)).status).toBe(200)
  })
})
