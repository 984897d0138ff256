import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const wanted = { version: '3.11.0', channel: 'stable' }

const redirect = (response: ServerResponse, location: string, status = 302) => void response.writeHead(status, { location }).end()

async function open() {
  const site = await SdkSite.open()
  const zip = await site.addDart('3.11.0')
  await site.addFlutter('3.41.0', '3.11.0')
  const app = await testApp({ env: site.env })
  return { site, zip, app, admin: await app.admin(), origin: new URL(site.env.SDK_ARCHIVE_URL ?? '').origin }
}

/** Starts an internal service that must not be contacted. Counts its requests. */
async function startInternalService(host: string) {
  let requests = 0
  const server = createServer((_request, response) => (requests++, void response.end('a secret'))).listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => (server.closeAllConnections(), void server.close()))
  return { port: (server.address() as AddressInfo).port, requests: () => requests }
}

const addresses: [string, string, (port: number) => string][] = [
  ['another port of the same address', '127.0.0.1', (port) => `http://127.0.0.1:${port}/`],
  ['another loopback address', '0.0.0.0', (port) => `http://127.0.0.2:${port}/`],
  ['IPv6 loopback', '::1', (port) => `http://[::1]:${port}/`],
  ['IPv4 in IPv6', '127.0.0.1', (port) => `http://[::ffff:127.0.0.1]:${port}/`],
  ['a decimal address', '127.0.0.1', (port) => `http://2130706433:${port}/`],
  ['an octal address', '127.0.0.1', (port) => `http://0177.0.0.1:${port}/`],
  ['the unspecified address', '127.0.0.1', (port) => `http://0.0.0.0:${port}/`],
  ['a name', '127.0.0.1', (port) => `http://localhost:${port}/`],
  ['an address without a scheme', '127.0.0.1', (port) => `//127.0.0.1:${port}/`],
  ['an address with a password', '127.0.0.1', (port) => `http://user:password@127.0.0.1:${port}/`],
]

describe('redirects to another host', () => {
  it.each(addresses)('are not followed: %s', async (_what, host, target) => {
    const { site, zip, app, admin } = await open()
    await using _ = app
    const internal = await startInternalService(host)
    site.interfere = (request, response) => request.url === zip && (redirect(response, target(internal.port)), true)
    const { id } = (await admin.post(installs, wanted)).body
    await runJobs(app)
    const progress = (await admin.get(`${installs}/${id}/progress`)).body
    expect(progress.log.at(-1)).toMatch(/it redirects to "[^"]*", which is not on the same host.* Retrying soon/)
    expect(internal.requests()).toBe(0)
  })

  it('are not followed after a redirect on the same host', async () => {
    const { site, zip, app, admin } = await open()
    await using _ = app
    const internal = await startInternalService('127.0.0.1')
    site.interfere = (request, response) => {
      if (request.url === zip) redirect(response, '/moved')
      if (request.url === '/moved') redirect(response, `http://127.0.0.1:${internal.port}/`, 307)
      return response.headersSent
    }
    const { id } = (await admin.post(installs, wanted)).body
    await runJobs(app)
    const progress = (await admin.get(`${installs}/${id}/progress`)).body
    expect(progress.log.at(-1)).toMatch(/it redirects to "http:[^"]*", which is not on the same host/)
    expect(internal.requests()).toBe(0)
  })

  it('are not followed for listings of both archives', async () => {
    const { site, app, admin } = await open()
    await using _ = app
    const internal = await startInternalService('127.0.0.1')
    site.interfere = (_request, response) => (redirect(response, `http://127.0.0.1:${internal.port}/`), true)
    for (const kind of ['dart', 'flutter'])
      expect(await admin.get(`/api/admin/sdk/releases?channel=stable&kind=${kind}`)).toMatchObject({
        status: 503,
        body: {
          error: { code: 'ServiceUnavailable', message: expect.stringMatching(/which is not on the same host\. Check the network/) },
        },
      })
    expect((await admin.post(installs, wanted)).status).toBe(503)
    expect(internal.requests()).toBe(0)
  })
})

it("follows redirects on the archive's host", async () => {
  const { site, zip, app, admin, origin } = await open()
  await using _ = app
  site.files.set('/moved.zip', site.files.get(zip) ?? Buffer.alloc(0))
  site.interfere = (request, response) => {
    if (request.url === zip) redirect(response, '/again')
    if (request.url === '/again') redirect(response, `${origin}/moved.zip`, 308)
    return response.headersSent
  }
  await admin.post(installs, wanted)
  await runJobs(app)
  expect((await admin.get(installs)).body.installs[0]).toMatchObject({ status: 'ready' })
})

it('fails on a redirect loop', async () => {
  const { site, zip, app, admin } = await open()
  await using _ = app
  site.interfere = (request, response) => request.url === zip && (redirect(response, zip), true)
  const { id } = (await admin.post(installs, wanted)).body
  await runJobs(app)
  expect((await admin.get(`${installs}/${id}/progress`)).body.log.at(-1)).toMatch(/it redirects more than 5 times/)
  expect(site.requests.filter((one) => one === `GET ${zip}`)).toHaveLength(6)
})

it('does not report the hash of an archive with an unexpected hash', async () => {
  const site = await SdkSite.open()
  await site.addDart('3.11.0', { sha256: 'a'.repeat(64) })
  await using app = await testApp({ env: site.env })
  const admin = await app.admin()
  const { id } = (await admin.post(installs, wanted)).body
  await runJobs(app)
  const { log } = (await admin.get(`${installs}/${id}/progress`)).body
  expect(log.join('\n').match(/[0-9a-f]{64}/g)).toEqual(['a'.repeat(64)])
})
