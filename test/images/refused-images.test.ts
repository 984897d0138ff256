import { gzipSync } from 'node:zlib'
import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import { signatureOf } from '../../server/registry/markdown/images.ts'
import { publicOnly } from '../../server/platform/outbound/addresses.ts'
import { type TestApp, testApp } from '../app.ts'
import { allowImagesFrom, startImages, testDns } from '../support/image-server.ts'
import { plain } from '../support/pictures.ts'

const png = await plain({ width: 4, height: 3 }).png().toBuffer()

/** Returns the path of an image with its signature. */
const signed = (app: TestApp, url: string) =>
  `/images?url=${encodeURIComponent(url)}&signature=${signatureOf(app.services.keys.image, url)}`

/** Returns the status with which the server answers a signed request for an image. */
const fetchThrough = async (app: TestApp, url: string): Promise<number> => (await app.anonymous.get(signed(app, url))).status

/** Starts a server and a site with images that it may fetch. */
async function withSite(listener: RequestListener, timeoutMs?: number) {
  const dns = await testDns()
  const site = await startImages(listener)
  dns.addresses['site.example'] = () => ['127.0.0.1']
  const app = await testApp({ env: { DNS_SERVERS: dns.address } })
  allowImagesFrom(app, (address, port) => (address === '127.0.0.1' && port === site.port) || publicOnly(address, port), timeoutMs)
  return { app, dns, site, url: `http://site.example:${site.port}`, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

it('contacts no address of this machine or network by default', async () => {
  const secret = await startImages((_request, response) => response.end(png))
  const dns = await testDns()
  dns.addresses['inside.example'] = () => ['127.0.0.1']
  await using app = await testApp({ env: { DNS_SERVERS: dns.address } })
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433', 'inside.example', '127.0.0.1.'])
    expect(await fetchThrough(app, `http://${host}:${secret.port}/a.png`)).toBe(404)
  expect(secret.requests).toEqual([])
})

it('follows redirects only to public addresses', async () => {
  const secret = await startImages((_request, response) => response.end(png))
  await using server = await withSite((request, response) => {
    const to = decodeURIComponent(request.url?.split('?to=')[1] ?? '')
    response.writeHead(302, { location: to }).end()
  })
  server.dns.addresses['private.example'] = () => ['10.0.0.7']
  server.dns.addresses['both.example'] = () => ['93.184.215.14', '127.0.0.1']
  const targets = [
    `http://127.0.0.1:${secret.port}/`,
    `http://localhost:${secret.port}/`,
    'http://[::1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://[64:ff9b::7f00:1]/',
    'http://100.64.0.1/',
    'http://private.example/',
    'http://both.example/',
    'http://8.8.8.8:8080/',
    'http://user:secret@8.8.8.8/',
    'file:///etc/passwd',
    'gopher://8.8.8.8/',
    '',
  ]
  for (const target of targets)
    expect([target, await fetchThrough(server.app, `${server.url}/?to=${encodeURIComponent(target)}`)]).toEqual([target, 404])
  expect(secret.requests).toEqual([])
})

it('follows three redirects and no more', async () => {
  await using server = await withSite((request, response) => {
    const left = Number(request.url?.slice(1))
    if (left === 0) response.end(png)
    else response.writeHead(302, { location: `/${left - 1}` }).end()
  })
  expect(await fetchThrough(server.app, `${server.url}/3`)).toBe(200)
  expect(await fetchThrough(server.app, `${server.url}/4`)).toBe(404)
})

it('connects to the address that it checked, although the name has another one by then', async () => {
  await using server = await withSite((_request, response) => response.end(png))
  const other = await startImages((_request, response) => response.end(png), { host: '127.0.0.2', port: server.site.port })
  let asked = 0
  server.dns.addresses['flip.example'] = () => [asked++ === 0 ? '127.0.0.1' : '127.0.0.2']
  expect(await fetchThrough(server.app, `http://flip.example:${server.site.port}/a.png`)).toBe(200)
  expect(asked).toBe(1)
  expect([server.site.requests.length, other.requests.length]).toEqual([1, 0])
  // The next fetch, to which the name has a forbidden address, is refused.
  expect(await fetchThrough(server.app, `http://flip.example:${server.site.port}/b.png`)).toBe(404)
  expect(other.requests).toEqual([])
})

it('limits the images that are not cached for each client', async () => {
  await using server = await withSite((_request, response) => response.end(png))
  const { app, url, site } = server
  expect(await fetchThrough(app, `${url}/a.png`)).toBe(200)
  for (let left = 299; left > 0; left--) await app.services.limits.use('imageFetch', app.anonymous.ip)
  const refused = await app.anonymous.get(signed(app, `${url}/b.png`))
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'RateLimitExceeded' } } })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(site.requests.length).toBe(1)
  // Cached images, unsigned requests and other clients are not affected.
  expect(await fetchThrough(app, `${url}/a.png`)).toBe(200)
  expect((await app.anonymous.get(`/images?url=${encodeURIComponent(url)}&signature=x`)).status).toBe(404)
  const member = await (await app.member()).session()
  expect((await member.get(signed(app, `${url}/b.png`))).status).toBe(200)
})

const bomb = Buffer.from(png)
bomb.writeUInt32BE(30_000, 16)
bomb.writeUInt32BE(30_000, 20)

/** Time limit in milliseconds for answers that do not end. The request must have arrived before, also on a busy machine. */
const shortMs = 3000

it.each<[what: string, listener: RequestListener, timeoutMs?: number]>([
  ['HTML', (_request, response) => response.setHeader('content-type', 'image/png').end('<html><script>alert(1)</script></html>')],
  ['an empty answer', (_request, response) => response.setHeader('content-type', 'image/png').end()],
  ['an image with too many pixels', (_request, response) => response.end(bomb)],
  ['an announced size that is too large', (_request, response) => response.writeHead(200, { 'content-length': 6_000_000 }).write(png)],
  ['an image that never ends', (_request, response) => sendForever(response)],
  ['an answer that does not come', () => {}, shortMs],
  ['an answer that stops', (_request, response) => response.write(png.subarray(0, 20)), shortMs],
  ['a compressed image', (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(png))],
  ['an error', (_request, response) => response.writeHead(404).end(png)],
  ['an answer that is not HTTP', ({ socket }) => socket.end('nonsense\r\n\r\n')],
])('shows nothing for %s', async (_what, listener, timeoutMs) => {
  await using server = await withSite(listener, timeoutMs)
  expect(await fetchThrough(server.app, `${server.url}/a.png`)).toBe(404)
  expect(server.site.requests.length).toBe(1)
})

function sendForever(response: import('node:http').ServerResponse): void {
  response.write(png)
  const more = () => {
    if (!response.destroyed) response.write(Buffer.alloc(256 * 1024), more)
  }
  more()
}
