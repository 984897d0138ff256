import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rename, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { db } from '../../server/platform/db/query.ts'
import { changeRows } from '../../server/platform/db/statements.ts'
import { keyOf, mirrorFiles } from '../../server/registry/mirror/entries.ts'
import type { TestApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { archivePath, decisionsOf, listingPath, mirrorClient, mirrorOf, passMinutes } from '../support/mirror.ts'
import { alter } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const path = listingPath('colors')

async function upstreamWithColors(): Promise<Upstream> {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  upstream.publish('colors', '1.1.0')
  upstream.package('colors').publisher = 'example.com'
  return upstream
}

describe('documents of the mirror', () => {
  it('are sent as editors and update services expect them', async () => {
    const upstream = await upstreamWithColors()
    upstream.discontinue('colors', 'paint')
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const read = async (rest: string) => (await member.get(`/mirror${rest}`)).body
    expect(await read(`${path}/score`)).toEqual(upstream.package('colors').score())
    expect(await read(`${path}/options`)).toEqual({ isDiscontinued: true, replacedBy: 'paint', isUnlisted: false })
    expect(await read(`${path}/publisher`)).toEqual({ publisherId: 'example.com' })
    expect(await read('/api/package-name-completion-data')).toEqual({ packages: ['colors'] })
    const listing = await read(path)
    expect(await read(`${path}/versions/1.0.0`)).toEqual(listing.versions[0])
    expect(await read(`${path}/versions/1.1.0`)).toEqual(listing.latest)
    expect((await member.get(`/mirror${path}/versions/9.9.9`)).status).toBe(404)
  })

  it('are requested once, and compared with the upstream server later', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const rest of ['/score', '/options', '/publisher']) {
      for (let times = 0; times < 3; times++) expect((await member.get(`/mirror${path}${rest}`)).status).toBe(200)
      expect(upstream.count(`${path}${rest}`)).toBe(1)
      passMinutes(app, 61)
      await member.get(`/mirror${path}${rest}`)
      expect(upstream.requestsTo(`${path}${rest}`).map(({ status }) => status)).toEqual([200, 304])
    }
  })

  it('are 404 for a package that does not exist upstream', async () => {
    const upstream = await Upstream.start()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const rest of ['/versions/1.0.0', '/advisories', '/score', '/options', '/publisher'])
      expect((await member.get(`/mirror${path}${rest}`)).status, rest).toBe(404)
  })

  it('have advisories with a date that clients accept, even if the upstream server sends none', async () => {
    const upstream = await upstreamWithColors()
    upstream.advise('colors', { affected: ['1.0.0'] })
    upstream.fail(
      `${path}/advisories`,
      alter((document) => void (document.advisoriesUpdated = null)),
    )
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    expect((await client.advisories('colors')).map(({ id }) => id)).toEqual(['GHSA-aaaa-bbbb-cccc'])
    const [listing, { body }] = [await client.listing('colors'), await member.get(`/mirror${path}/advisories`)]
    expect(Date.parse(body.advisoriesUpdated)).toBeGreaterThanOrEqual(Date.parse(listing.advisoriesUpdated ?? ''))
  })

  it('have advisories that are never older than the listing that announces them', async () => {
    const upstream = await upstreamWithColors()
    upstream.advise('colors', { affected: ['1.0.0'] })
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    await client.listing('colors')
    await client.advisories('colors')
    // Nine minutes later, the advisories were compared, but not the listing. Then the listing changes first.
    passMinutes(app, 11)
    await client.listing('colors')
    await client.advisories('colors')
    upstream.advise('colors', { id: 'GHSA-dddd-eeee-ffff', affected: ['1.0.0'], modified: new Date('2025-09-09T09:09:09Z') })
    passMinutes(app, 11)
    const listing = await client.listing('colors')
    expect(listing.advisoriesUpdated).toMatch(/^2025-09-09/)
    expect(await client.advisories('colors')).toHaveLength(2)
  })
})

const archive = `/mirror${archivePath('colors', '1.0.0')}`

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
    const { body } = await member.get(`/mirror${path}`)
    const store = await mirrorFiles.store(app.services)
    await store.remove(await storedListing(app), { at: new Date() })
    await upstream.stop()
    expect((await member.get(`/mirror${path}`)).status).toBe(503)
    await upstream.listen()
    passMinutes(app, 1)
    expect(await member.get(`/mirror${path}`)).toMatchObject({ status: 200, body })
  })

  it('is kept while the store cannot be read', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const { body } = await member.get(`/mirror${path}`)
    const sha256 = await storedListing(app)
    const place = await (await mirrorFiles.store(app.services)).place(sha256)
    const file = join(app.config.BLOB_PATH, 'mirror', 'sha256', place ?? '')
    await upstream.stop()
    // A folder in place of the file cannot be read, like a disk that fails.
    await rename(file, `${file}.kept`)
    await mkdir(file)
    expect((await member.get(`/mirror${path}`)).status).toBeGreaterThanOrEqual(500)
    await rm(file, { recursive: true })
    await rename(`${file}.kept`, file)
    expect(await member.get(`/mirror${path}`)).toMatchObject({ status: 200, body })
  })

  it('is not waited for without a bound if another instance does not end its claim, like every other file', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(`/mirror${path}`)
    app.services.state.upstreamTimes = { documentMs: 100, archiveHeadersMs: 100, archiveMs: 400, pace: { bytes: 1024, ms: 30_000 } }
    const leased = { leased_until: new Date('2999-01-01'), used_at: new Date() }
    for (const [kind, version, rest] of [
      ['score', '', `${path}/score`],
      ['publisher', '', `${path}/publisher`],
      ['archive', '1.0.0', archivePath('colors', '1.0.0')],
    ] as const) {
      const key = keyOf({ kind, name: 'colors', version: version || undefined })
      await changeRows(
        app.services.database.fork(),
        db
          .insertInto('mirror_entries')
          .values({ key, kind, name: 'colors', version, ...leased })
          .onConflict((conflict) => conflict.column('key').doUpdateSet({ ...leased, sha256: null, checked_at: null })),
      )
      const { status, raw } = await member.get(`/mirror${rest}`)
      expect({ kind, status }).toEqual({ kind, status: 503 })
      expect(String(raw)).toContain('another instance is still fetching it')
    }
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
    const { body } = await member.get(`/mirror${path}`)
    expect(body.versions[0].archive_sha256).toBe(sha256)
    expect((await member.get(archive)).raw.equals(first)).toBe(true)
    expect(await decisionsOf(app)).toMatchObject([{ rule: 'changed_archive', package_name: 'colors', version: '1.0.0' }])
  })

  it('is not marked as stale right after the comparison, also without a lifetime', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream, { env: { UPSTREAM_TTL: '0' } })
    const member = await app.member()
    for (let times = 1; times <= 3; times++) {
      const { status, headers } = await member.get(`/mirror${path}`)
      expect({ status, warning: headers.warning, requests: upstream.count(path) }).toEqual({ status: 200, requests: times })
    }
  })

  it('reports a bounded number of faults', async () => {
    const upstream = await Upstream.start()
    for (let patch = 0; patch < 30; patch++) upstream.publish('colors', `1.0.${patch}`)
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    await member.get(`/mirror${path}`)
    for (let patch = 0; patch < 30; patch++) upstream.publish('colors', `1.0.${patch}`, { files: { 'lib/other.dart': '// other' } })
    passMinutes(app, 11)
    expect((await member.get(`/mirror${path}`)).status).toBe(200)
    expect(await decisionsOf(app)).toHaveLength(20)
  })
})

describe('the mirror', () => {
  it('does not let a client that reads slowly delay the archive for others', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0', { files: { 'lib/noise.bin': randomBytes(16 * 1024 ** 2) } })
    const content = await upstream.version('colors', '1.0.0').archive()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const [slow] = (await once(
      get(`${await app.listen()}${archive}`, { headers: { authorization: `Bearer ${member.secret}` } }),
      'response',
    )) as [IncomingMessage]
    expect((await member.get(archive)).raw.equals(content)).toBe(true)
    const chunks: Buffer[] = []
    for await (const chunk of slow as AsyncIterable<Buffer>) chunks.push(chunk)
    expect(Buffer.concat(chunks).equals(content)).toBe(true)
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
    expect(performance.now() - started).toBeLessThan(30_000)
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
