import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { compareVersions } from '../support/versions.ts'

const plain = { headers: { 'accept-encoding': 'identity' } }
const zipped = { headers: { 'accept-encoding': 'gzip' } }

async function withVersions(versions: string[], options = {}) {
  const app = await testApp(options)
  const alice = await app.member()
  for (const version of versions) await publish(alice, { name: 'acme', version })
  return { app, alice, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

describe('the package listing', () => {
  it('contains every version in the order of the pub client', async () => {
    await using server = await withVersions(['1.0.0', '1.0.0-dev.1', '1.10.0', '1.9.0', '1.0.0+2', '1.0.0+10'])
    const { status, headers, body } = await server.alice.get('/api/packages/acme')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/vnd.pub.v2+json; charset=utf-8')
    const versions = body.versions.map(({ version }: { version: string }) => version)
    expect(versions).toEqual(['1.0.0-dev.1', '1.0.0', '1.0.0+2', '1.0.0+10', '1.9.0', '1.10.0'])
    expect(versions).toEqual(versions.toSorted(compareVersions))
    expect(Object.keys(body)).toEqual(['name', 'latest', 'versions'])
    expect(body.latest).toEqual(body.versions.at(-1))
    expect(body.versions[2]).toEqual({
      version: '1.0.0+2',
      archive_url: 'http://localhost:8080/api/archives/acme-1.0.0+2.tar.gz',
      archive_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      pubspec: { name: 'acme', version: '1.0.0+2', description: expect.any(String), environment: { sdk: '>=3.0.0 <4.0.0' } },
      published: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
  })

  it('is the document that GraphQL returns, for members and for the public', async () => {
    await using app = await publicApp()
    const alice = await app.member()
    for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
    const query = '{ package(name: "acme") { listing } }'
    expect((await app.anonymous.graphql(query)).body.data.package).toBeNull()
    await makePublic(app, 'acme')
    for (const actor of [alice, app.anonymous]) {
      const { body } = await actor.graphql(query)
      expect(body.data.package.listing).toBe((await actor.get('/api/packages/acme', plain)).raw.toString())
    }
  })

  it('marks only retracted versions', async () => {
    await using server = await withVersions(['1.0.0', '1.1.0'])
    await retract(server.app, '1.0.0')
    const { body } = await server.alice.get('/api/packages/acme')
    expect(body.versions).toMatchObject([{ version: '1.0.0', retracted: true }, { version: '1.1.0' }])
    expect(body.versions[1]).not.toHaveProperty('retracted')
  })

  it('selects a new version as latest when higher ones are retracted', async () => {
    await using server = await withVersions(['2.0.0'])
    await retract(server.app, '2.0.0')
    await publish(server.alice, { name: 'acme', version: '1.0.0' })
    expect((await server.alice.get('/api/packages/acme')).body.latest.version).toBe('1.0.0')
  })

  it('builds URLs from SERVER_URL regardless of request headers', async () => {
    await using server = await withVersions(['1.0.0'], { env: { SERVER_URL: 'https://pub.example.com' } })
    const { body } = await server.alice.get('/api/packages/acme', {
      headers: { host: 'evil.example.com', 'x-forwarded-host': 'evil.example.com' },
    })
    expect(body.latest.archive_url).toBe('https://pub.example.com/api/archives/acme-1.0.0.tar.gz')
  })

  it('is compressed or plain as requested, also for HEAD, with a Vary header', async () => {
    await using server = await withVersions(['1.0.0'])
    const small = await server.alice.get('/api/packages/acme', { headers: { 'accept-encoding': 'br, gzip;q=0.5' } })
    const large = await server.alice.get('/api/packages/acme', { headers: { 'accept-encoding': 'gzip;q=0' } })
    expect(small.headers['content-encoding']).toBe('gzip')
    expect(large.headers['content-encoding']).toBeUndefined()
    expect(gunzipSync(small.raw).equals(large.raw)).toBe(true)
    for (const [answer, how] of [
      [small, zipped],
      [large, plain],
    ] as const) {
      expect(answer.headers.vary).toContain('accept-encoding')
      expect(answer.headers['cache-control']).toBe('private, no-cache')
      const head = await server.alice.head('/api/packages/acme', how)
      expect(head).toMatchObject({ status: 200, headers: { 'content-length': String(answer.raw.length), etag: answer.headers.etag } })
      expect(head.raw).toHaveLength(0)
    }
  })

  it('answers 304 for a matching ETag until something changes', async () => {
    await using server = await withVersions(['1.0.0'])
    const etag = String((await server.alice.get('/api/packages/acme')).headers.etag)
    const ask = (tag: string) => server.alice.get('/api/packages/acme', { headers: { 'if-none-match': tag } })
    for (const tag of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const answer = await ask(tag)
      expect(answer).toMatchObject({ status: 304, headers: { etag } })
      expect(answer.raw).toHaveLength(0)
    }
    expect(await ask('"other"')).toMatchObject({ status: 200 })
    await publish(server.alice, { name: 'acme', version: '1.0.1' })
    const changed = await ask(etag)
    expect(changed).toMatchObject({ status: 200, body: { latest: { version: '1.0.1' } } })
    expect(changed.headers.etag).not.toBe(etag)
  })

  it('changes on another instance as soon as a version is committed', async () => {
    await using app = await testApp()
    if (app.services.database.backend === 'sqlite') return expect(app).toBeDefined() // SQLite allows one instance only.
    await using other = await testApp({ sameDatabaseAs: app })
    const alice = await app.member()
    const there = other.withToken(alice.secret ?? '')
    for (const version of ['1.0.0', '1.0.1', '1.0.2']) {
      await publish(alice, { name: 'acme', version })
      for (const actor of [alice, there]) expect((await actor.get('/api/packages/acme')).body.latest.version).toBe(version)
    }
  })

  it('requires read permission and a valid, existing package', async () => {
    await using server = await withVersions(['1.0.0'])
    const { app, alice } = server
    const reader = await app.viewer()
    for (const path of [
      '/api/packages/acme',
      '/api/packages/acme/versions/1.0.0',
      '/api/archives/acme-1.0.0.tar.gz',
      '/api/packages/nothing',
      '/api/packages/acme/versions/1.0.0/archive.tar.gz',
      '/packages/acme/versions/1.0.0.tar.gz',
      '/api/package-names',
      '/api/packages',
    ]) {
      expect(await app.anonymous.get(path)).toMatchObject({
        status: 401,
        body: { error: { code: 'MissingAuthentication' } },
        headers: { 'www-authenticate': expect.stringMatching(/^Bearer realm="pub", message="/) },
      })
      expect(await app.withToken('svc_pat_0').get(path)).toMatchObject({ status: 401 })
      expect((await reader.get(path)).status).toBeOneOf([200, 303, 404])
    }
    const missing = ['nothing', 'Acme', '_fe_analyzer_shared', 'class', 'a'.repeat(65), 'acme/versions/9.9.9', 'nothing/versions/1.0.0']
    const archives = [
      '/packages/acme/versions/9.9.9.tar.gz',
      '/packages/nothing/versions/1.0.0.tar.gz',
      '/api/packages/acme/versions/9.9.9/archive.tar.gz',
    ]
    for (const path of [...missing.map((end) => `/api/packages/${end}`), ...archives]) {
      expect(await alice.get(path)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    }
    for (const path of [
      '/api/packages/9acme',
      '/api/packages/a-b',
      '/api/packages/a.b',
      '/api/packages/%20',
      '/api/packages/a%2Fb',
      '/api/packages/a%00',
      '/api/packages/..%2f..',
      "/api/packages/a'--",
      '/api/packages/acme/versions/1.0',
      '/api/packages/acme/versions/v1.0.0',
      '/api/packages/acme/versions/01.0.0',
    ]) {
      expect(await alice.get(path)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
    }
    expect(await alice.get('/api/packages/%zz')).toMatchObject({ body: { error: { code: 'NotFound' } } })
    expect(await alice.delete('/api/packages/acme')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
  })
})

it('returns a version as in the listing', async () => {
  await using server = await withVersions(['1.0.0', '1.0.0-dev.1+2'])
  const { versions } = (await server.alice.get('/api/packages/acme')).body
  for (const entry of versions) {
    for (const version of [entry.version, encodeURIComponent(entry.version)]) {
      expect(await server.alice.get(`/api/packages/acme/versions/${version}`)).toMatchObject({
        status: 200,
        body: entry,
        headers: { 'content-type': 'application/vnd.pub.v2+json; charset=utf-8' },
      })
    }
  }
})

it('lists package names and pages of packages', async () => {
  await using app = await testApp()
  const alice = await app.member()
  expect((await alice.get('/api/package-names')).body).toEqual({ packages: [] })
  expect((await alice.get('/api/packages')).body).toEqual({
    packages: [],
    page: 1,
    pageSize: 50,
    totalCount: 0,
    totalPages: 0,
    next_url: null,
  })
  for (const name of ['beta', 'alpha', 'alpha_two']) await publish(alice, { name, version: '1.0.0' })
  const names = { packages: ['alpha', 'alpha_two', 'beta'] }
  expect((await alice.get('/api/package-names')).body).toEqual(names)
  expect((await alice.get('/api/package-name-completion-data')).body).toEqual(names)
  const { body } = await alice.get('/api/packages?page=1')
  expect(body).toMatchObject({
    page: 1,
    totalCount: 3,
    totalPages: 1,
    packages: names.packages.map((name) => ({ name, latest: { version: '1.0.0' } })),
  })
  expect((await alice.get('/api/packages?page=2')).body).toMatchObject({ packages: [], page: 2, totalCount: 3 })
  expect(await alice.get('/api/packages?page=0')).toMatchObject({ status: 400 })
})

/** Retracts a version directly in the database and increments the package's revision. */
async function retract(app: TestApp, version: string): Promise<void> {
  const em = app.services.database.fork()
  const moment = app.services.database.backend === 'sqlite' ? Date.now() : new Date()
  await em.execute('update package_versions set retracted_at = ? where version = ?', [moment, version])
  await em.execute('update packages set revision = revision + 1')
}
