import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { dependent, makePublic, publicApp, setSwitch } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

/** Returns the paths that package clients read of a package. */
const reads = (name: string, version = '1.0.0') => [
  `/api/packages/${name}`,
  `/api/packages/${name}/versions/${version}`,
  `/api/packages/${name}/versions/${version}/content`,
  `/api/packages/${name}/advisories`,
  `/api/archives/${name}-${version}.tar.gz`,
  `/packages/${name}/versions/${version}.tar.gz`,
  `/api/packages/${name}/versions/${version}/archive.tar.gz`,
]

const statusesOf = async (app: TestApp, name: string, actor = app.anonymous) =>
  Promise.all(reads(name).map(async (path) => (await actor.get(path)).status))
const readable = [200, 200, 200, 200, 200, 303, 303]
const refused = readable.map(() => 401)

describe('anonymous reading', () => {
  it('requires the environment variable, the switch and a public package', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    expect(await statusesOf(app, 'acme')).toEqual(refused)
    await makePublic(app, 'acme')
    expect(await statusesOf(app, 'acme')).toEqual(readable)
    await setSwitch(app, false)
    expect(await statusesOf(app, 'acme')).toEqual(refused)
    await setSwitch(app, true)
    expect(await statusesOf(app, 'acme')).toEqual(readable)
    app.config.PUBLIC_PACKAGES_ENABLED = false
    expect(await statusesOf(app, 'acme')).toEqual(refused)
    expect(await statusesOf(app, 'acme', alice)).toEqual(readable)
  })

  it('answers byte for byte alike for private and missing packages', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'secret', version: '1.0.0' })
    for (const method of ['GET', 'HEAD'] as const) {
      for (const [index, path] of reads('secret').entries()) {
        const [hidden, absent] = [await app.anonymous.send(method, path), await app.anonymous.send(method, reads('absent')[index] ?? '')]
        expect({ ...hidden, headers: { ...hidden.headers, date: '' } }).toEqual({ ...absent, headers: { ...absent.headers, date: '' } })
        expect(hidden).toMatchObject({ status: 401, headers: { 'www-authenticate': expect.stringContaining('Bearer realm="pub"') } })
      }
    }
  })

  it('is refused with an invalid token', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await makePublic(app, 'acme')
    const revoked = (await alice.post('/api/auth/keys', { name: 'gone' })).body
    await alice.delete(`/api/auth/keys/${revoked.id}`)
    for (const secret of ['svc_pat_wrong', revoked.secret]) expect(await statusesOf(app, 'acme', app.withToken(secret))).toEqual(refused)
    expect((await app.anonymous.get('/api/packages/acme', { headers: { cookie: `${names.session}=stale` } })).status).toBe(200)
  })

  it('serves the archive whole, in ranges and by ETag, with revalidation by caches', async () => {
    await using app = await publicApp()
    const archive = await publish(await app.member(), { name: 'acme', version: '1.0.0' })
    await makePublic(app, 'acme')
    const path = '/api/archives/acme-1.0.0.tar.gz'
    const whole = await app.anonymous.get(path)
    expect(whole.raw.equals(archive)).toBe(true)
    expect(whole.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'authorization, cookie', etag: expect.any(String) })
    const part = await app.anonymous.get(path, { headers: { range: 'bytes=0-9' } })
    expect([part.status, part.raw.equals(archive.subarray(0, 10))]).toEqual([206, true])
    const tag = { headers: { 'if-none-match': String(whole.headers.etag) } }
    expect((await app.anonymous.get(path, tag)).status).toBe(304)
    await setSwitch(app, false)
    for (const options of [tag, { headers: { range: 'bytes=0-9' } }, {}]) {
      expect((await app.anonymous.get(path, options)).status).toBe(401)
      expect((await app.anonymous.head(path, options)).status).toBe(401)
    }
  })

  it('costs no statement for members or while the environment does not permit it', async () => {
    await using app = await publicApp({ alone: true })
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    for (const path of ['/api/packages/acme', '/api/archives/acme-1.0.0.tar.gz']) {
      await alice.get(path)
      expect(await app.countQueries(() => alice.get(path))).toBe(2)
    }
    app.config.PUBLIC_PACKAGES_ENABLED = false
    expect(await app.countQueries(() => app.anonymous.get('/api/packages/acme'))).toBe(0)
  })
})

describe('versions that need a private package', () => {
  const versionsOf = (body: { versions: { version: string }[] }) => body.versions.map(({ version }) => version)

  it('are hidden from anonymous users, and the latest version is chosen from the rest', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'secret', version: '1.0.0' })
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await publish(alice, dependent('acme', '1.1.0', [], ['secret']))
    await publish(alice, dependent('acme', '2.0.0', ['secret']))
    await makePublic(app, 'acme')
    const { body } = await app.anonymous.get('/api/packages/acme')
    expect([versionsOf(body), body.latest.version]).toEqual([['1.0.0', '1.1.0'], '1.1.0'])
    expect(JSON.stringify(body)).not.toContain('secret')
    expect(versionsOf((await alice.get('/api/packages/acme')).body)).toEqual(['1.0.0', '1.1.0', '2.0.0'])
    for (const path of reads('acme', '2.0.0').slice(1, 3)) expect((await app.anonymous.get(path)).status).toBe(401)
    expect((await app.anonymous.get('/api/archives/acme-2.0.0.tar.gz')).status).toBe(401)
    expect((await app.anonymous.get('/api/packages/acme/versions/1.1.0')).body.pubspec).not.toHaveProperty('dev_dependencies')
    const { data } = (
      await app.anonymous.graphql(
        '{ package(name: "acme") { latest { version pubspec dependencies { name } } version(version: "2.0.0") { version } versions(first: 9) { totalCount nodes { version } } } }',
      )
    ).body
    expect(data.package).toEqual({
      latest: { version: '1.1.0', pubspec: expect.not.stringContaining('secret'), dependencies: [] },
      version: null,
      versions: { totalCount: 2, nodes: [{ version: '1.1.0' }, { version: '1.0.0' }] },
    })
  })

  it('are omitted from a compressed listing with its own ETag', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    await publish(alice, dependent('acme', '2.0.0', ['absent']))
    await makePublic(app, 'acme')
    const [mine, theirs] = await Promise.all(
      [alice, app.anonymous].map((actor) => actor.get('/api/packages/acme', { headers: { 'accept-encoding': 'gzip' } })),
    )
    expect(versionsOf(JSON.parse(gunzipSync(theirs?.raw ?? '').toString()))).toEqual(['1.0.0'])
    expect(theirs?.headers.etag).not.toBe(mine?.headers.etag)
    expect(theirs?.headers['cache-control']).toBe('no-cache')
  })
})

describe('the switch for public packages', () => {
  const path = '/api/admin/public-packages'
  const kinds = async (app: TestApp) => {
    const { body } = await (await app.admin()).get('/api/admin/audit-log?kind=server.')
    return body.entries.map(({ kind }: { kind: string }) => kind).toReversed()
  }

  it('shows the state of the feature and is recorded in both directions', async () => {
    await using app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
    const admin = await app.admin()
    for (const name of ['one', 'two', 'three']) await publish(admin, { name, version: '1.0.0' })
    await makePublic(app, 'two')
    const status = { permittedByEnvironment: true, enabled: false, requiresServerAdmin: false, totalPackages: 3, publicPackages: 1 }
    expect(await admin.get(path)).toMatchObject({ status: 200, body: status })
    expect((await app.anonymous.get('/api/setup/status')).body.publicBrowsing).toBe(false)
    expect(await admin.put(path, { enabled: true })).toMatchObject({ status: 200, body: { ...status, enabled: true } })
    expect((await app.anonymous.get('/api/setup/status')).body.publicBrowsing).toBe(true)
    expect((await admin.put(path, { enabled: true, requiresServerAdmin: true })).body).toEqual({
      ...status,
      enabled: true,
      requiresServerAdmin: true,
    })
    expect((await admin.put(path, { enabled: false })).body).toEqual({ ...status, requiresServerAdmin: true })
    expect(await kinds(app)).toEqual(['server.public_packages_enabled', 'server.settings_updated', 'server.public_packages_disabled'])
  })

  it('cannot be changed while the environment does not permit it, with a 403 that names the variable', async () => {
    await using app = await testApp()
    const admin = await app.admin()
    for (const enabled of [true, false]) {
      const { status, body } = await admin.put(path, { enabled })
      expect({ status, body }).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
      expect(body.error.message).toContain('PUBLIC_PACKAGES_ENABLED')
    }
    expect((await admin.get(path)).body).toMatchObject({ permittedByEnvironment: false, enabled: false })
    expect(await kinds(app)).toEqual([])
  })

  it('controls what search engines may index', async () => {
    await using app = await publicApp()
    const page = (url: string) => app.anonymous.get(url).then(({ headers }) => headers['x-robots-tag'])
    expect((await app.anonymous.get('/robots.txt')).body).toContain('Allow: /packages\n')
    expect([await page('/packages/acme'), await page('/'), await page('/login')]).toEqual([undefined, undefined, 'noindex'])
    await setSwitch(app, false)
    expect((await app.anonymous.get('/robots.txt')).body).toBe('User-agent: *\nDisallow: /\n')
    expect([await page('/packages/acme'), await page('/')]).toEqual(['noindex', 'noindex'])
  })
})
