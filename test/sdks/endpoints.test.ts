import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { newId } from '../../server/platform/db/base.ts'
import { testApp } from '../app.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const id = newId()
const rows: [method: 'GET' | 'POST' | 'DELETE', path: string, body?: object][] = [
  ['GET', '/api/admin/sdk/releases?channel=stable'],
  ['GET', installs],
  ['POST', installs, { version: '3.11.0', channel: 'stable' }],
  ['GET', `${installs}/${id}/progress`],
  ['POST', `${installs}/${id}/set-default`],
  ['POST', `${installs}/${id}/rebuild`],
  ['DELETE', `${installs}/${id}`],
  ['GET', '/api/admin/sdk/platform'],
]

async function open() {
  const site = await SdkSite.open()
  const app = await testApp({ env: site.env })
  return { site, app, admin: await app.admin() }
}

it('requires an administrator with a token of that scope', async () => {
  const { site, app, admin } = await open()
  await using _ = app
  const others = [await app.member(), await app.viewer(), await app.withScopes(admin, ['write'])]
  for (const [method, path, body] of rows) {
    expect(await app.anonymous.send(method, path, body)).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
    for (const actor of others)
      expect(await actor.send(method, path, body)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  }
  expect(site.requests).toEqual([])
  const browser = await admin.session()
  const forged = { headers: { 'x-csrf-token': 'x' } }
  expect(await browser.post(installs, { version: '3.11.0', channel: 'stable' }, forged)).toMatchObject({ status: 403 })
})

it('answers 404 for unknown and malformed ids', async () => {
  const { app, admin } = await open()
  await using _ = app
  for (const [method, path] of rows.filter(([, path]) => path.includes(id)))
    for (const one of [path, path.replace(id, 'nothing'), path.replace(id, '..%2f..')])
      expect(await admin.send(method, one)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('returns the platform', async () => {
  const { app, admin } = await open()
  await using _ = app
  expect(await admin.get('/api/admin/sdk/platform')).toMatchObject({
    status: 200,
    body: { os: 'linux', arch: process.arch, sdkPlatform: `linux-${process.arch}`, freeDiskBytes: expect.any(Number) },
  })
})

describe('releases', () => {
  const path = '/api/admin/sdk/releases'

  it('are listed by channel and kind, the newest first, and fetched once per hour', async () => {
    const { site, app, admin } = await open()
    await using _ = app
    for (const version of ['3.9.1', '3.11.0', '3.10.0']) await site.addDart(version)
    await site.addDart('3.12.0-12.3.beta', { channel: 'beta' })
    await site.addFlutter('3.41.0', '3.11.0')
    app.clock.now = new Date('2026-09-01T00:00:00Z')
    const stable = await admin.get(`${path}?channel=stable`)
    const date = '2026-08-06T00:00:00.000Z'
    expect(stable).toMatchObject({ status: 200 })
    expect(stable.body.releases).toEqual([
      ...['3.11.0', '3.10.0', '3.9.1'].map((version) => ({
        kind: 'dart',
        version,
        channel: 'stable',
        publishedAt: date,
        dartVersion: version,
      })),
      { kind: 'flutter', version: '3.41.0', channel: 'stable', publishedAt: '2026-08-07T17:39:42.000Z', dartVersion: '3.11.0' },
    ])
    expect((await admin.get(`${path}?channel=beta&kind=dart`)).body.releases).toMatchObject([{ version: '3.12.0-12.3.beta' }])
    expect((await admin.get(`${path}?channel=dev`)).body.releases).toEqual([])
    const before = site.requests.length
    await site.addDart('3.13.0')
    app.clock.now = new Date('2026-09-01T00:59:00Z')
    expect((await admin.get(`${path}?channel=stable`)).body).toEqual(stable.body)
    expect(site.requests.length).toBe(before)
    app.clock.now = new Date('2026-09-01T01:00:01Z')
    expect((await admin.get(`${path}?channel=stable&kind=dart`)).body.releases[0]).toMatchObject({ version: '3.13.0' })
  })

  it('answer 400 for an unknown channel or kind', async () => {
    const { app, admin } = await open()
    await using _ = app
    for (const [query, message] of [
      ['?channel=canary', 'channel: must be one of beta, dev, stable, not "canary".'],
      ['', 'channel: is required.'],
      ['?channel=stable&kind=go', 'kind: must be one of dart, flutter, not "go".'],
    ])
      expect(await admin.get(path + query)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput', message } } })
  })

  it.each([
    ['sends no listing', (site: SdkSite) => (site.interfere = (_request, response) => !!response.end('<html>Sign in</html>'))],
    ['fails', (site: SdkSite) => (site.interfere = (_request, response) => !!response.writeHead(500).end())],
    ['closes the connection', (site: SdkSite) => (site.interfere = (request) => !!request.socket.destroy())],
  ])('answer 503 naming the archive when it %s, and recover', async (_what, interfere) => {
    const { site, app, admin } = await open()
    await using _ = app
    await site.addDart('3.11.0')
    interfere(site)
    const refused = {
      status: 503,
      headers: { 'retry-after': '60' },
      body: {
        error: {
          code: 'ServiceUnavailable',
          message: expect.stringMatching(/^The Dart archive at http:\/\/127.* Check the network, or set SDK_ARCHIVE_URL/),
        },
      },
    }
    expect(await admin.get(`${path}?channel=stable&kind=dart`)).toMatchObject(refused)
    expect(await admin.post(installs, { version: '3.11.0', channel: 'stable' })).toMatchObject(
      _what === 'sends no listing' ? { status: 503 } : refused,
    )
    site.interfere = () => false
    expect((await admin.get(`${path}?channel=stable&kind=dart`)).body.releases).toHaveLength(1)
  })

  it('are listed from readable archives, with a warning naming the others', async () => {
    const { site, app, admin } = await open()
    await using _ = app
    await site.addDart('3.11.0')
    site.interfere = ({ url }, response) => !!url?.startsWith('/flutter') && !!response.writeHead(500).end()
    const warnings = [expect.stringMatching(/^The Flutter archive at http:\/\/127.* set FLUTTER_ARCHIVE_URL to a mirror\.$/)]
    expect(await admin.get(`${path}?channel=stable`)).toMatchObject({ status: 200, body: { releases: [{ version: '3.11.0' }], warnings } })
    for (const channel of ['STABLE', 'Stable']) expect((await admin.get(`${path}?channel=${channel}`)).status).toBe(200)
    const query = '{ sdkReleases(channel: STABLE) { version } sdkReleaseWarnings(channel: STABLE) }'
    expect((await admin.graphql(query)).body.data).toEqual({ sdkReleases: [{ version: '3.11.0' }], sdkReleaseWarnings: warnings })
    expect((await admin.get(`${path}?channel=stable&kind=flutter`)).status).toBe(503)
    site.interfere = () => false
    await site.addFlutter('3.41.0', '3.11.0')
    const { body } = await admin.get(`${path}?channel=stable`)
    expect(body.releases).toHaveLength(2)
    expect(body).not.toHaveProperty('warnings')
  })

  it('answer 503 when no server listens', async () => {
    const closed = createServer().listen(0)
    const { port } = closed.address() as { port: number }
    await new Promise((resolve) => closed.close(resolve))
    await using app = await testApp({
      env: { SDK_ARCHIVE_URL: `http://127.0.0.1:${port}`, FLUTTER_ARCHIVE_URL: `http://127.0.0.1:${port}` },
    })
    const admin = await app.admin()
    for (const kind of ['dart', 'flutter']) expect(await admin.get(`${path}?channel=stable&kind=${kind}`)).toMatchObject({ status: 503 })
  })
})

describe('requests for an installation', () => {
  it('answer 400 for invalid input without contacting the archive', async () => {
    const { site, app, admin } = await open()
    await using _ = app
    const strange = [
      'latest',
      '3.11',
      'v3.11.0',
      '../3.11.0',
      '3.11.0/..',
      '3.11.0;id',
      '--help',
      '3.11.0 ',
      '3.11.0+../..',
      '3.11.0%2f..',
      '3.11.0\n',
      '-3.11.0',
      `3.11.0-${'x'.repeat(60)}`,
    ]
    const cases: [body: object, message: string][] = [
      [{ version: '3.11.0', channel: 'canary' }, 'channel: must be one of beta, dev, stable, not "canary".'],
      [{ version: '3.11.0' }, 'channel: is required.'],
      [{ channel: 'stable' }, 'version: is required.'],
      [{ version: 3, channel: 'stable' }, 'version: '],
      [{ version: '3.11.0', channel: 'stable', kind: 'go' }, 'kind: must be one of dart, flutter, not "go".'],
      ...strange.map((version): [object, string] => [{ version, channel: 'stable' }, 'version: must be a version such as 1.2.3']),
    ]
    for (const [body, message] of cases) {
      const refused = { status: 400, body: { error: { code: 'InvalidInput', message: expect.stringContaining(message) } } }
      expect(await admin.post(installs, body)).toMatchObject(refused)
    }
    expect(site.requests).toEqual([])
  })

  it('answer 404 for releases that the archive does not have', async () => {
    const { site, app, admin } = await open()
    await using _ = app
    await site.addDart('3.11.0')
    await site.addFlutter('3.41.0', '3.11.0')
    for (const [body, message] of [
      [{ version: '3.99.0', channel: 'stable' }, 'There is no Dart 3.99.0 in the channel stable for'],
      [{ version: '3.11.0', channel: 'beta' }, 'There is no Dart 3.11.0 in the channel beta for'],
      [{ version: '3.11.0', channel: 'stable', kind: 'flutter' }, 'There is no Flutter 3.11.0 in the channel stable for'],
    ] as const) {
      const refused = { status: 404, body: { error: { code: 'NotFound', message: expect.stringContaining(message) } } }
      expect(await admin.post(installs, body)).toMatchObject(refused)
    }
    expect((await admin.get(installs)).body).toEqual({ installs: [] })
  })
})
