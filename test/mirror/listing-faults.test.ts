import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { TestApp } from '../app.ts'
import { decisionsOf, listingPath, mirrorClient, mirrorOf, passMinutes, publishOwn, storedInMirror } from '../support/mirror.ts'
import { alter, drip, failWith, neverEnd, redirectTo, reset, send, truncate, type UpstreamFault } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const upstreamPath = listingPath('colors')
const path = `/mirror${upstreamPath}`

async function upstreamWithColors(): Promise<Upstream> {
  const upstream = await Upstream.start()
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) upstream.publish('colors', version)
  return upstream
}

function shortenTimes({ instances }: TestApp): void {
  for (const { services } of instances)
    services.state.upstreamTimes = { documentMs: 400, archiveHeadersMs: 400, archiveMs: 5000, pace: { bytes: 1024, ms: 400 } }
}

const gzipBomb: UpstreamFault = (_request, response) =>
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    .end(gzipSync(Buffer.alloc(64 * 1024 ** 2, 0x20)))
const huge = alter((listing) => void (listing.versions[0].pubspec.description = 'x'.repeat(20 * 1024 ** 2)))

const faults: [string, UpstreamFault][] = [
  ['answers 500', failWith(500)],
  ['answers 403', failWith(403)],
  ['closes the connection', reset],
  ['sends a page', send('<html>Sign in to this network</html>')],
  ['sends an empty answer', send('')],
  ['sends null', send('null')],
  ['sends half of it', truncate({ declared: true })],
  ['never ends', neverEnd],
  ['sends one byte in a while', drip(150)],
  ['sends more than 16 MB', huge],
  ['sends more than 16 MB compressed', gzipBomb],
  ['sends deeply nested JSON', send(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)],
  ['sends another package', alter((listing) => void (listing.name = 'shapes'))],
  ['sends no list of versions', alter((listing) => void (listing.versions = {}))],
  ['sends no versions', alter((listing) => void (listing.versions = []))],
  ['sends only versions of another package', alter((listing) => listing.versions.forEach((one: Entry) => (one.pubspec.name = 'shapes')))],
  ['redirects to another server', redirectTo('http://169.254.169.254/api/packages/colors')],
  ['redirects to itself', redirectTo(upstreamPath)],
]
type Entry = { version: unknown; pubspec: Record<string, unknown>; archive_url: unknown; archive_sha256: unknown }

describe('a listing is not used if the upstream server', () => {
  it.each(faults)('%s', async (_what, fault) => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    shortenTimes(app)
    const member = await app.member()
    await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
    upstream.fail(upstreamPath, fault)
    const failing = member.get(path)
    expect((await member.get('/api/packages/ours')).status).toBe(200)
    expect(await failing).toMatchObject({ status: 503, body: { error: { code: 'ServiceUnavailable' } } })
    expect(await storedInMirror(app)).toEqual({ rows: [], files: 0, unfinished: 0 })

    upstream.heal(upstreamPath)
    passMinutes(app, 1)
    const good = await member.get(path)
    upstream.fail(upstreamPath, fault)
    passMinutes(app, 11)
    const stale = await member.get(path)
    expect({ status: stale.status, body: stale.body, warning: stale.headers.warning }).toEqual({
      status: 200,
      body: good.body,
      warning: '110 - "Response is Stale"',
    })
    expect(await storedInMirror(app)).toEqual({ rows: ['listing:colors'], files: 1, unfinished: 0 })
  })
})

/** Changes of the second of three versions with which the client would reject the whole listing. */
const unreadable: [string, (entry: Entry) => void][] = [
  ['the pubspec of another package', (entry) => (entry.pubspec.name = 'shapes')],
  ['the pubspec of another version', (entry) => (entry.pubspec.version = '9.9.9')],
  ['no pubspec', (entry) => Reflect.deleteProperty(entry, 'pubspec')],
  ['a number as its version', (entry) => (entry.version = 1.1)],
  ['a version that is not canonical', (entry) => (entry.version = '1.1')],
  ['an archive_url of another kind', (entry) => (entry.archive_url = 'javascript:alert(1)')],
  ['an invalid hash', (entry) => (entry.archive_sha256 = 'abc')],
]

describe('a version is left out of a listing if it has', () => {
  it.each(unreadable)('%s', async (_what, change) => {
    const upstream = await upstreamWithColors()
    upstream.fail(
      upstreamPath,
      alter((listing) => change(listing.versions[1])),
    )
    await using app = await mirrorOf(upstream, { alone: true }) // each instance logs a fault once
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    const { versions, latest } = await client.listing('colors')
    expect({ versions: versions.map(({ version }) => version), latest: latest.version }).toEqual({
      versions: ['1.0.0', '1.2.0'],
      latest: '1.2.0',
    })
    passMinutes(app, 11)
    await client.listing('colors')
    expect(await decisionsOf(app)).toMatchObject([{ outcome: 'fault', package_name: 'colors' }])
    expect(app.lines.filter((line) => line.includes('mirror: The listing of colors'))).toHaveLength(1)
  })
})

it('omits optional fields of the wrong type, which would break the client', async () => {
  const upstream = await upstreamWithColors()
  const wrong = { isDiscontinued: null, replacedBy: 'No Package', advisoriesUpdated: 'yesterday' }
  upstream.fail(
    upstreamPath,
    alter((listing) => void Object.assign(Object.assign(listing, wrong).versions[0], { published: 5, retracted: null })),
  )
  await using app = await mirrorOf(upstream)
  const listing = await mirrorClient(await app.listen(), (await app.member()).secret).listing('colors')
  for (const field of Object.keys(wrong)) expect(listing).not.toHaveProperty(field)
  expect(listing.versions[0]).not.toHaveProperty('published')
  expect(listing.versions).toHaveLength(3)
})

it('reads the listing as it is, not as the upstream server sorts it', async () => {
  const upstream = await upstreamWithColors()
  upstream.fail(
    upstreamPath,
    alter((listing) => {
      listing.versions.reverse()
      listing.versions.push(listing.versions[0])
      listing.latest = listing.versions[2]
    }),
  )
  await using app = await mirrorOf(upstream)
  const { body } = await (await app.member()).get(path)
  expect(body.versions.map(({ version }: { version: string }) => version)).toEqual(['1.0.0', '1.1.0', '1.2.0'])
  expect(body.latest.version).toBe('1.2.0')
})

it('logs once that the upstream server does not answer, and that it answers again', async () => {
  const upstream = await upstreamWithColors()
  for (const name of ['shapes', 'sounds']) upstream.publish(name, '1.0.0')
  await using app = await mirrorOf(upstream, { alone: true }) // each instance logs it once
  const member = await app.member()
  await upstream.stop()
  for (const name of ['colors', 'shapes', 'sounds']) expect((await member.get(`/mirror${listingPath(name)}`)).status).toBe(503)
  await upstream.listen()
  passMinutes(app, 1)
  for (const name of ['colors', 'shapes', 'sounds']) expect((await member.get(`/mirror${listingPath(name)}`)).status).toBe(200)
  expect(app.lines.filter((line) => line.includes('upstream server'))).toEqual([
    expect.stringMatching(/ WARNING the upstream server of the mirror does not answer: .*ECONNREFUSED/),
    expect.stringMatching(/ INFO the upstream server of the mirror answers again\n$/),
  ])
})
