import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TestApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import {
  archivePath,
  decisionsOf,
  listingPath,
  mirrorClient,
  mirrorOf,
  passMinutes,
  publishOwn,
  storedInMirror,
} from '../support/mirror.ts'
import {
  alter,
  declareLength,
  drip,
  failWith,
  neverEnd,
  redirectTo,
  reset,
  send,
  truncate,
  type UpstreamFault,
} from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const upstreamPath = archivePath('colors', '1.0.0')
const path = `/mirror${upstreamPath}`
const listed = { rows: ['listing:colors'], files: 1, unfinished: 0 }

/** Reads a URL over HTTP. Returns `broken` if the body ends early. */
async function download(address: string, secret: string | undefined) {
  const response = await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${secret}` } })
  const body = await response.arrayBuffer().catch(() => 'broken' as const)
  return { status: response.status, body }
}

/** Limits of requests, so that slow transfers end soon. */
function shortenTimes({ instances }: TestApp): void {
  for (const { services } of instances)
    services.state.upstreamTimes = { documentMs: 400, archiveHeadersMs: 400, archiveMs: 5000, pace: { bytes: 1024, ms: 400 } }
}

const changedByte = (_request: unknown, ...rest: Parameters<UpstreamFault> extends [unknown, ...infer Rest] ? Rest : never) => {
  const [response, { headers, body }] = rest
  const changed = Buffer.from(body)
  changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1)
  response.writeHead(200, headers).end(changed)
}

const faults: [string, UpstreamFault, RegExp][] = [
  ['answers 500', failWith(500), /status 500/],
  ['answers 403', failWith(403), /status 403/],
  ['sends other content', changedByte, /SHA-256/],
  ['sends no gzip', send('<html>Sign in to this network</html>'), /SHA-256/],
  ['sends half of it with the whole length', truncate({ declared: true }), /./],
  ['sends half of it without a length', truncate({ declared: false }), /SHA-256/],
  ['announces 10 GB', declareLength(10 * 1024 ** 3), /10737418240 bytes, more than 2097152/],
  ['never ends', neverEnd, /more than 2097152 bytes/],
  ['closes the connection', reset, /./],
  ['sends one byte in a while', drip(150), /too slow/],
  ['redirects to the address of cloud metadata', redirectTo('http://169.254.169.254/latest/meta-data/'), /169\.254\.169\.254/],
  ['redirects to a file', redirectTo('file:///etc/passwd'), /http or https/],
  ['redirects to itself', redirectTo(upstreamPath), /redirects/],
]

// Each instance logs a fault once, so these tests have one.
describe('an archive is not kept if the upstream server', () => {
  it.each(faults)('%s', async (_what, fault, reason) => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0', { files: { 'lib/noise.bin': randomBytes(200_000) } })
    await using app = await mirrorOf(upstream, { alone: true, env: { MAX_UPLOAD_BYTES: String(2 * 1024 ** 2) } })
    shortenTimes(app)
    const member = await app.member()
    await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
    await member.get(`/mirror${listingPath('colors')}`)
    upstream.fail(upstreamPath, fault)
    const address = await app.listen()
    const failing = download(address, member.secret)
    expect((await member.get('/api/packages/ours')).status).toBe(200)
    const { status, body } = await failing
    if (status === 200) expect(body).toBe('broken')
    else expect(status).toBe(503)
    await expect.poll(() => decisionsOf(app)).toHaveLength(1)
    expect(await storedInMirror(app)).toEqual(listed)

    // The failure is remembered for a moment, and reported once.
    const requests = upstream.count(upstreamPath)
    const again = await download(address, member.secret)
    expect({ status: again.status, error: errorIn(again.body) }).toEqual({ status: 503, error: expect.stringMatching(reason) })
    expect(upstream.count(upstreamPath)).toBe(requests)
    passMinutes(app, 1)
    await download(address, member.secret)
    const [decision, ...others] = await decisionsOf(app)
    expect(decision).toMatchObject({ outcome: 'fault', package_name: 'colors', version: '1.0.0', user_id: null })
    expect({ reason: decision?.reason, others }).toEqual({ reason: expect.stringMatching(reason), others: [] })
    expect(app.lines.filter((line) => /mirror|upstream/.test(line.replace(/ (?:GET|HEAD) .*/, '')))).toEqual([
      expect.stringContaining('mirror: The archive of colors 1.0.0'),
    ])

    upstream.heal(upstreamPath)
    passMinutes(app, 1)
    const healed = await mirrorClient(address, member.secret).download('colors', '1.0.0')
    expect(healed.equals(await upstream.version('colors', '1.0.0').archive())).toBe(true)
    expect(await storedInMirror(app)).toEqual({ rows: ['archive:colors:1.0.0', 'listing:colors'], files: 2, unfinished: 0 })
  })
})

const errorIn = (body: ArrayBuffer | 'broken'): unknown =>
  body === 'broken' ? body : JSON.parse(Buffer.from(body).toString()).error.message

describe('the mirror', () => {
  it.each(['redirect', 'archive_url'])('does not contact other servers of the network because of a %s', async (how) => {
    const internal = await startInternal()
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0')
    if (how === 'redirect') upstream.fail(upstreamPath, redirectTo(`${internal.url}/secret`))
    else
      upstream.fail(
        listingPath('colors'),
        alter((listing) => void (listing.versions[0].archive_url = `${internal.url}/secret`)),
      )
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    const { status, body } = await member.get(path)
    expect({ status, message: body.error.message }).toEqual({ status: 503, message: expect.stringContaining(new URL(internal.url).host) })
    expect(internal.requests).toEqual([])
    expect(await decisionsOf(app)).toMatchObject([
      { outcome: 'fault', version: '1.0.0', reason: expect.stringContaining(internal.url.slice(7)) },
    ])
  })

  it('follows redirects of the upstream server to itself', async () => {
    const upstream = await Upstream.start()
    upstream.publish('colors', '1.0.0')
    upstream.fail(upstreamPath, redirectTo('/packages/colors/versions/1.0.0.tar.gz'))
    await using app = await mirrorOf(upstream)
    expect((await (await app.member()).get(path)).raw.equals(await upstream.version('colors', '1.0.0').archive())).toBe(true)
  })

  it('keeps the first content of a version if the upstream server replaces it', async () => {
    const upstream = await Upstream.start()
    const first = await upstream.publish('colors', '1.0.0').archive()
    upstream.publish('shapes', '1.0.0')
    await using app = await mirrorOf(upstream, { alone: true })
    const member = await app.member()
    const client = mirrorClient(await app.listen(), member.secret)
    await client.download('colors', '1.0.0')
    await client.listing('shapes')
    for (const name of ['colors', 'shapes'])
      upstream.publish(name, '1.0.0', {
        archive: await packageArchive({ name, version: '1.0.0', files: { 'lib/other.dart': '// other' } }),
      })
    passMinutes(app, 11)
    expect((await client.download('colors', '1.0.0')).equals(first)).toBe(true)
    // This archive was not in the mirror: its new content has another hash than the listing of the time.
    const { status, body } = await member.get(`/mirror${archivePath('shapes', '1.0.0')}`)
    expect({ status, message: body.error.message }).toEqual({ status: 503, message: expect.stringContaining('SHA-256') })
    const reports = (await decisionsOf(app)).filter(({ rule }) => rule === 'changed_archive')
    expect(reports).toMatchObject(['colors', 'shapes'].map((name) => ({ outcome: 'fault', package_name: name, version: '1.0.0' })))
    passMinutes(app, 11)
    await client.listing('colors')
    for (const name of ['colors', 'shapes'])
      expect(
        app.lines.filter((line) => line.includes(`The archive of ${name} 1.0.0 was replaced`)),
        name,
      ).toHaveLength(1)
  })
})

/** Starts a server that stands for one in the network of the mirror. */
async function startInternal() {
  const requests: (string | undefined)[] = []
  const server = createServer((request, response) => {
    requests.push(request.url)
    response.end('secret')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
