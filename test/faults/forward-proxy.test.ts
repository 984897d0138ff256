import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { certificateFor } from '../support/certificate.ts'
import { startDns } from '../support/dns-server.ts'
import { ForwardProxy, terminateTls } from '../support/forward-proxy.ts'
import { archivePath, listingPath } from '../support/mirror.ts'
import { s3Bucket } from '../support/s3-service.ts'
import { SdkSite } from '../support/sdk-site.ts'
import { folderForTest, json, ownersToken, publishTo, secretForTests, type Server, start } from '../support/server-process.ts'
import { alter } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const credentials = 'web proxy:p@ss:w/ord%'
const [name, version] = ['colors', '1.0.0']
const portOf = (url: string): number => Number(new URL(url).port)

/** Starts an upstream server that states another address than the one at which it listens. */
async function upstreamAt(url: string) {
  const upstream = await Upstream.start()
  const port = portOf(upstream.url)
  const archive = await upstream.publish(name, version).archive()
  upstream.url = url
  return { upstream, port, archive }
}

/** Starts a server and returns a function that reads its mirror as the owner. */
async function mirrorThrough(env: Record<string, string>) {
  const folder = folderForTest()
  const server = await start(folder, env)
  if (server.process.exitCode !== null) throw new Error(`The server did not start:\n${server.log()}`)
  const authorization = `Bearer ${await ownersToken(server)}`
  const read = async (path: string) => {
    const response = await fetch(`${server.url}/mirror${path}`, { headers: { authorization } })
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
  }
  return { server, folder, authorization, read }
}

const readBoth = async (read: (path: string) => Promise<{ status: number; body: Buffer }>, archive: Buffer) => {
  const [listing, archived] = [await read(listingPath(name)), await read(archivePath(name, version))]
  expect([listing.status, archived.status]).toEqual([200, 200])
  expect(JSON.parse(listing.body.toString())).toMatchObject({ name, latest: { version } })
  expect(archived.body.equals(archive)).toBe(true)
}

/** Runs `npm run admin -- doctor` for a server. */
async function doctor({ url }: Server, folder: string, env: Record<string, string>): Promise<string> {
  const settings = { PATH: process.env.PATH, SERVER_URL: url, JWT_SECRET: secretForTests, DATA_DIR: folder, ...env }
  const run = promisify(execFile)(process.execPath, ['server/platform/launch/snug.mjs', 'admin', 'doctor', '--quick'], { env: settings })
  return run.then(
    ({ stdout }) => stdout,
    (failure: { stdout: string }) => failure.stdout,
  )
}

it.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])(
  'mirrors an http server that only the proxy of %s reaches',
  async (variable) => {
    const { port, archive } = await upstreamAt('http://packages.example')
    const proxy = await ForwardProxy.open({ hosts: { 'packages.example': port }, credentials })
    const env = { UPSTREAM_URL: 'http://packages.example', [variable]: proxy.url() }
    const { server, folder, read } = await mirrorThrough(env)
    await readBoth(read, archive)
    expect(proxy.forwarded).toEqual([listingPath(name), archivePath(name, version)].map((path) => `GET http://packages.example${path}`))
    expect(proxy.refused).toEqual([])
    const report = await doctor(server, folder, env)
    expect(report).toContain(`the mirror: through the proxy ${new URL(proxy.url()).origin}`)
    for (const text of [report, server.log()]) expect(text).not.toMatch(/p@ss|p%40ss|w\/ord|w%2Ford/)
  },
)

it.each([
  ['http', 'HTTPS_PROXY'],
  ['http', 'https_proxy'],
  ['https', 'HTTPS_PROXY'],
])('mirrors an https server through an %s proxy of %s', async (scheme, variable) => {
  const certificate = certificateFor('packages.example')
  const { port, archive } = await upstreamAt('https://packages.example')
  const hosts = { 'packages.example:443': await terminateTls(port, certificate) }
  const proxy = await ForwardProxy.open({ hosts, credentials, ...(scheme === 'https' && { certificate }) })
  const trust = { NODE_EXTRA_CA_CERTS: certificate.file }
  const { read } = await mirrorThrough({ UPSTREAM_URL: 'https://packages.example', [variable]: proxy.url(), ...trust })
  await readBoth(read, archive)
  expect(new Set(proxy.forwarded)).toEqual(new Set(['CONNECT packages.example:443']))
  expect(proxy.refused).toEqual([])
})

it.each(['NO_PROXY', 'no_proxy'])('contacts hosts in %s directly', async (variable) => {
  await using dns = await startDns()
  const { upstream, port, archive } = await upstreamAt('')
  upstream.url = `http://packages.inner.example:${port}`
  dns.addresses['packages.inner.example'] = () => ['127.0.0.1']
  const proxy = await ForwardProxy.open({ hosts: {}, credentials })
  const env = { UPSTREAM_URL: upstream.url, HTTP_PROXY: proxy.url(), DNS_SERVERS: dns.address, [variable]: 'other.example, .inner.example' }
  const { read } = await mirrorThrough(env)
  await readBoth(read, archive)
  expect([...proxy.forwarded, ...proxy.refused]).toEqual([])
})

it.each([
  ['http', 'HTTP_PROXY'],
  ['https', 'HTTPS_PROXY'],
])('reports that the proxy does not accept the password of %s requests', async (scheme, variable) => {
  const { upstream } = await upstreamAt(`${scheme}://packages.example`)
  const proxy = await ForwardProxy.open({ hosts: {}, credentials })
  const env = { UPSTREAM_URL: upstream.url, [variable]: proxy.url('web proxy:old-word') }
  const { server, folder, read } = await mirrorThrough(env)
  const words = `the proxy ${new URL(proxy.url()).origin} does not accept the user name and password (status 407): check ${variable}`
  for (const path of [listingPath(name), listingPath('other'), listingPath('third')]) {
    const { status, body } = await read(path)
    expect({ status, text: body.toString() }).toEqual({ status: 503, text: expect.stringContaining(words) })
  }
  await expect
    .poll(() =>
      server
        .log()
        .split('\n')
        .filter((line) => line.includes(words)),
    )
    .toHaveLength(1)
  expect(await doctor(server, folder, env)).toContain(words)
  expect(server.log()).not.toContain('old-word')
  expect(proxy.forwarded).toEqual([])
})

it.each(['10.0.0.5', '169.254.169.254', '[fd00::1]', '127.1.2.3:8080', 'intranet', 'db.internal'])(
  'never asks the proxy for an archive at %s',
  async (host) => {
    const { upstream, port } = await upstreamAt('http://packages.example')
    upstream.fail(
      listingPath(name),
      alter((listing) => (listing.versions[0].archive_url = `http://${host}/colors.tar.gz`)),
    )
    const bare = host.replace(/:\d+$/, '')
    const proxy = await ForwardProxy.open({ hosts: { 'packages.example': port, [bare]: port }, credentials })
    const { read } = await mirrorThrough({ UPSTREAM_URL: upstream.url, HTTP_PROXY: proxy.url() })
    const { status, body } = await read(archivePath(name, version))
    expect({ status, text: body.toString() }).toEqual({ status: 503, text: expect.stringContaining('may not be contacted') })
    expect([...proxy.forwarded, ...proxy.refused]).toEqual([`GET http://packages.example${listingPath(name)}`])
  },
)

it('stores archives in a bucket and downloads SDKs that only the proxy reaches', async () => {
  await using bucket = await s3Bucket()
  const site = await SdkSite.open()
  await site.addDart('3.11.0')
  const { SDK_ARCHIVE_URL = '', SDK_PUB_HOSTED_URL = '' } = site.env
  const hosts = { storage: portOf(bucket.env.S3_ENDPOINT ?? ''), 'sdks.example': portOf(SDK_ARCHIVE_URL) }
  const proxy = await ForwardProxy.open({ hosts, credentials })
  const { server, authorization } = await mirrorThrough({
    ...bucket.env,
    ...site.env,
    S3_ENDPOINT: 'http://storage',
    SDK_ARCHIVE_URL: 'http://sdks.example/dart-archive',
    SDK_PUB_HOSTED_URL,
    HTTP_PROXY: proxy.url(),
  })
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version }))
  expect((await bucket.keys()).some((key) => key.startsWith('sha256/'))).toBe(true)
  expect(proxy.forwarded.some((line) => line.startsWith('PUT http://storage/'))).toBe(true)

  const installs = `${server.url}/api/admin/sdk/installs`
  const { id } = (await json(installs, { kind: 'dart', version: '3.11.0', channel: 'stable' }, { authorization })).body
  const progress = async () => (await json(`${installs}/${id}/progress`, undefined, { authorization })).body
  await expect.poll(progress, { timeout: 90_000 }).toMatchObject({ status: 'ready' })
  expect(proxy.forwarded.some((line) => /^GET http:\/\/sdks\.example\/.*\.zip$/.test(line))).toBe(true)
  expect(proxy.refused).toEqual([])
})
