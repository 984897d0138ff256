import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { get as getHttps } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { startCaddy } from '../support/caddy.ts'
import { startNginx } from '../support/nginx.ts'
import { announce, finish } from '../support/publish.ts'
import { folderForTest } from '../support/server-process.ts'

/** Writes a certificate for localhost and its key to the files that the example names. Returns the certificate. */
function createCertificate(folder: string): string {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'certificate.pem')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const { error, status, stderr } = spawnSync('openssl', ['req', '-x509', ...key, ...subject, ...files], { encoding: 'utf8' })
  if (error) throw new Error('Install it to run this test: apt-get install openssl', { cause: error })
  if (status !== 0) throw new Error(`openssl failed: ${stderr}`)
  return readFileSync(join(folder, 'certificate.pem'), 'utf8')
}

const proxies = {
  async nginx(instance: string) {
    const tls = folderForTest()
    const ca = createCertificate(tls)
    return { port: await startNginx({ instances: [instance], tls }), ca: () => ca }
  },
  async caddy(instance: string) {
    const { port, authority } = await startCaddy({ instances: [instance], tls: true })
    return { port, ca: authority }
  },
}

const addresses = ['127.0.0.1', '[::1]']

it.each(['nginx', 'caddy'] as const)('serves IPv4 and IPv6, HTTP/2 and HTTP/1.1, and streams an upload behind %s', async (name) => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const { port, ca } = await proxies[name](await app.listen())
  // Caddy creates its certificate during its start, so the first requests may fail.
  await expect.poll(() => version11(addresses[0] ?? '', port, ca)).toEqual([200, 'HTTP/1.1'])
  for (const address of addresses) {
    expect([address, ...(await version11(address, port, ca))]).toEqual([address, 200, 'HTTP/1.1'])
    const session = await open(`https://${address}:${port}`, ca())
    expect(session.alpnProtocol).toBe('h2')
    expect(await ask(session, { ':path': '/api/v1/version' })).toMatchObject({ status: 200, body: expect.stringContaining('"version"') })
    await publishOver(session, app, alice, address === '[::1]' ? '1.1.0' : '1.0.0')
  }
  expect((await alice.get('/api/packages/acme')).body.versions).toHaveLength(2)
})

/** Publishes a version over HTTP/2, and expects that the server logs the upload request that the proxy forwards. */
async function publishOver(session: ClientHttp2Session, app: TestApp, alice: Awaited<ReturnType<TestApp['member']>>, version: string) {
  const authorization = `Bearer ${alice.secret}`
  const id = await announce(alice)
  const archive = await packageArchive({ name: 'acme', version, files: { 'lib/noise.bin': randomBytes(3_000_000) } })
  const path = `/api/packages/versions/upload?upload_id=${id}`
  const sent = await ask(session, { ':method': 'POST', ':path': path, authorization, 'content-type': 'application/octet-stream' }, archive)
  // The redirect has the public scheme and host, which the proxy forwards.
  expect(sent).toMatchObject({
    status: 302,
    headers: { location: expect.stringMatching(/^https:\/\/localhost:\d+\/api\/packages\/versions\//) },
  })
  expect(await finish(alice, id)).toMatchObject({ status: 200 })
  expect(app.lines.filter((line) => line.includes('POST /api/packages/versions/upload')).at(-1)).toMatch(/ 302 .*(?:127\.0\.0\.1|::1)/)
}

async function version11(address: string, port: number, ca: () => string): Promise<unknown[]> {
  try {
    const request = getHttps(`https://${address}:${port}/api/v1/version`, {
      ca: ca(),
      servername: 'localhost',
      headers: { host: `localhost:${port}` },
    })
    const [answer] = await once(request, 'response')
    await buffer(answer)
    return [answer.statusCode, `HTTP/${answer.httpVersion}`]
  } catch (error) {
    return [String(error)]
  }
}

async function open(url: string, ca: string): Promise<ClientHttp2Session> {
  const session = connectHttp2(url, { ca, servername: 'localhost' })
  onTestFinished(() => session.destroy())
  await once(session, 'connect')
  return session
}

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Buffer) {
  const { port } = new URL(session.originSet?.[0] ?? 'https://localhost')
  const stream = session.request({ ':authority': `localhost:${port}`, ...headers }, { endStream: body === undefined })
  if (body) stream.end(body)
  const [answer] = await once(stream, 'response')
  return { status: answer[':status'], headers: answer, body: String(await buffer(stream)) }
}

it('keeps both instances in rotation behind nginx while they refuse large bodies early', async () => {
  await using app = await testApp({ alone: true })
  const instance = await app.listen()
  const address = `http://127.0.0.1:${await startNginx({ instances: [instance, instance] })}`
  const statuses: number[] = []
  const refusals: unknown[] = []
  const refused = async () => {
    const request = { method: 'POST', body: Buffer.alloc(20_000_000), headers: { 'content-type': 'application/octet-stream' } }
    for (let round = 0; round < 4; round++)
      refusals.push(await fetch(`${address}/api/packages/versions/upload`, request).then(({ status }) => status, String))
  }
  const reads = async () => {
    for (let round = 0; round < 100; round++) statuses.push((await fetch(`${address}/api/v1/version`)).status)
  }
  await Promise.all([refused(), refused(), refused(), reads()])
  expect(refusals).toContain(401)
  expect(statuses.filter((status) => status !== 200)).toEqual([])
})
