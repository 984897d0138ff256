import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { markFailed } from '../../server/analysis/docs/service.ts'
import { Job } from '../../server/platform/jobs/entity.ts'
import { testApp } from '../app.ts'
import { beginDocs, docsPage, docsState, documentVersion, versionId } from '../support/docs.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

it('serves the documentation of a version and of the latest one to signed-in users', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.1.0+2' })
  await documentVersion(app, 'acme', '1.0.0')
  await documentVersion(app, 'acme', '1.1.0+2')
  const first = await alice.get('/documentation/acme/1.0.0/shapes/Circle.html', docsPage)
  expect(first).toMatchObject({
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src http:\/\/localhost:8080\/documentation\/-\/;.* sandbox allow-scripts /,
      ),
    },
  })
  expect(first.body).toContain('<a href="../index.html">acme 1.0.0</a>')
  expect((await alice.get('/documentation/acme/latest/', docsPage)).body).toContain('<h1>acme 1.1.0+2 ')
  expect((await alice.get('/documentation/acme/1.1.0%2B2/shapes/', docsPage)).body).toContain('<h1>shapes ')
  for (const path of ['/documentation/acme', '/documentation/acme/', '/documentation/acme/latest'])
    expect(await alice.get(path)).toMatchObject({ status: 303, headers: { location: 'http://localhost:8080/documentation/acme/latest/' } })
  expect(await alice.get('/documentation/acme/1.1.0%2B2')).toMatchObject({
    headers: { location: 'http://localhost:8080/documentation/acme/1.1.0%2B2/' },
  })
  const session = await alice.session()
  expect(await session.get('/documentation/acme/latest/search.html')).toMatchObject({ status: 200 })
})

it('sends the same page compressed and uncompressed', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  const path = '/documentation/acme/latest/shapes/index.html'
  const plain = await alice.get(path)
  const gzipped = await alice.get(path, { headers: { 'accept-encoding': 'gzip' } })
  expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding, authorization, cookie' })
  expect(gunzipSync(gzipped.raw).toString()).toBe(plain.body)
  const etag = plain.headers.etag ?? ''
  expect(await alice.get(path, { headers: { 'if-none-match': etag } })).toMatchObject({ status: 304, body: '' })
  const head = await alice.head(path)
  expect(head).toMatchObject({ status: 200, body: '', headers: { etag, 'content-length': String(plain.raw.length) } })
  expect(await alice.head('/documentation/-/docs.js')).toMatchObject({
    status: 200,
    headers: { 'cross-origin-resource-policy': 'cross-origin' },
  })
})

it('links pages to the package and to the same page of other versions with documentation', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0+1']) await publish(alice, { name: 'acme', version })
  for (const version of ['1.0.0', '1.1.0', '1.3.0+1']) await documentVersion(app, 'acme', version)
  expect((await alice.put('/api/packages/acme/versions/1.1.0/options', { isRetracted: true })).status).toBe(200)
  const path = '/documentation/acme/1.0.0/shapes/index.html'
  const { body, headers } = await alice.get(path)
  const links = /<nav class="site".*?<\/nav>/s.exec(body)?.[0] ?? ''
  expect(Array.from(links.matchAll(/href="([^"]+)"/g), ([, href]) => href)).toEqual([
    '/packages',
    '/packages/acme/versions/1.0.0',
    '/documentation/acme/1.3.0%2B1/shapes/',
    '/documentation/acme/1.1.0/shapes/',
    '/documentation/acme/1.0.0/shapes/',
    '/packages/acme/versions',
  ])
  expect(links).toContain('/documentation/acme/1.0.0/shapes/" aria-current="page">1.0.0</a>')
  expect(links.match(/retracted/g)).toHaveLength(1)
  // The list is part of the page, so its ETag changes with it.
  await documentVersion(app, 'acme', '1.2.0')
  const later = await alice.get(path, { headers: { 'if-none-match': String(headers.etag) } })
  expect(later).toMatchObject({ status: 200, body: expect.stringContaining('/documentation/acme/1.2.0/shapes/') })
})

it('sandboxes pages over https without the header that browsers refuse with a sandbox', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  const { headers } = await alice.get('/documentation/acme/latest/', { headers: { 'x-forwarded-proto': 'https' }, ip: '127.0.0.1' })
  expect(headers['content-security-policy']).toContain('script-src https://localhost:8080/documentation/-/;')
  expect(headers).not.toHaveProperty('cross-origin-opener-policy')
})

it('explains missing documentation in the format the client accepts', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const index = '/documentation/acme/latest/index.html'
  expect(await alice.get(index)).toMatchObject({
    status: 404,
    body: { error: { code: 'NotFound', message: 'acme 1.0.0 has no documentation yet.' } },
  })
  expect((await alice.get(index, docsPage)).body).toContain('is waiting to be generated')
  await app.services.database.fork().nativeDelete(Job, { kind: 'analysis' })
  expect(await alice.get(index, docsPage)).toMatchObject({
    status: 404,
    body: expect.stringContaining('The documentation has not been requested yet.'),
  })
  const id = await versionId(app, 'acme', '1.0.0')
  const attempt = await beginDocs(app, id)
  const em = app.services.database.fork()
  expect((await alice.get(index, docsPage)).body).toContain('being generated')
  await markFailed(em, id, attempt, '<b>Out of memory</b>')
  expect((await alice.get(index, docsPage)).body).toContain('The documentation could not be generated: &lt;b&gt;Out of memory&lt;/b&gt;')
  await documentVersion(app, 'acme', '1.0.0')
  const missing = await alice.get('/documentation/acme/latest/shapes/Square.html', docsPage)
  expect(missing).toMatchObject({ status: 404, body: expect.stringContaining('href="/documentation/acme/latest/search.html"') })
  expect(missing.headers['content-security-policy']).toContain('sandbox')
  for (const path of [
    '/documentation/acme/9.9.9/',
    '/documentation/nothing/latest/',
    '/documentation/acme/next/',
    '/documentation/A-b/latest/',
  ])
    expect(await alice.get(path, docsPage)).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } })
  for (const path of ['..%2f..%2findex.html', '%2e%2e/index.html', 'shapes%2findex.html%00'])
    expect([200, 404]).toContain((await alice.get(`/documentation/acme/latest/${path}`)).status)
})

it('requires a sign-in except for public packages, without versions that need a private one', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, dependent('acme', '2.0.0', ['secret']))
  for (const [name, version] of [
    ['secret', '1.0.0'],
    ['acme', '1.0.0'],
    ['acme', '2.0.0'],
  ] as const)
    await documentVersion(app, name, version)
  const anonymous = app.anonymous
  for (const path of ['acme/latest/', 'acme/1.0.0/shapes/', 'acme'])
    expect(await anonymous.get(`/documentation/${path}`)).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
  await makePublic(app, 'acme')
  expect(await anonymous.get('/documentation/acme/latest/', docsPage)).toMatchObject({
    status: 200,
    body: expect.stringContaining('acme 1.0.0'),
    headers: { 'cache-control': 'no-cache' },
  })
  const refused = await anonymous.get('/documentation/secret/latest/index.html', docsPage)
  expect(refused).toMatchObject({
    status: 401,
    body: expect.stringContaining('/login?redirect=%2Fdocumentation%2Fsecret%2Flatest%2Findex.html'),
    headers: { 'www-authenticate': expect.stringContaining('Bearer realm="pub"') },
  })
  const absent = await anonymous.get('/documentation/absent/latest/index.html', docsPage)
  expect(refused.body.replaceAll('secret', '')).toBe(absent.body.replaceAll('absent', ''))
  for (const path of ['acme/2.0.0/', 'acme/2.0.0/shapes/index.html', 'secret/1.0.0/'])
    expect(await anonymous.get(`/documentation/${path}`)).toMatchObject({ status: 401 })
  expect((await alice.get('/documentation/acme/latest/')).body).toContain('acme 2.0.0')
})

it('shows the state of the documentation in GraphQL', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const read = async () => (await alice.graphql(docsState)).body.data.package.latest.apiDocumentation
  const none = { url: null, engine: null, engineVersion: null, generatedAt: null, pages: 0, error: null }
  expect(await read()).toEqual({ ...none, state: 'PENDING' })
  await app.services.database.fork().nativeDelete(Job, { kind: 'analysis' })
  expect(await read()).toEqual({ ...none, state: 'NOT_ANALYZED' })
  const admin = await app.admin()
  for (const docsEnabled of [false, true]) {
    expect(await admin.put('/api/admin/sdk/settings', { docsEnabled })).toMatchObject({ status: 200 })
    expect(await read()).toEqual({ ...none, state: docsEnabled ? 'NOT_ANALYZED' : 'DISABLED' })
  }
  const id = await versionId(app, 'acme', '1.0.0')
  const first = await beginDocs(app, id)
  expect(await read()).toEqual({ ...none, state: 'RUNNING' })
  const em = app.services.database.fork()
  await markFailed(em, id, first, 'The archive is gone.')
  expect(await read()).toEqual({ ...none, state: 'FAILED', error: 'The archive is gone.' })
  await documentVersion(app, 'acme', '1.0.0')
  expect(await read()).toMatchObject({
    state: 'COMPLETED',
    url: 'http://localhost:8080/documentation/acme/1.0.0/',
    engine: 'built-in',
    engineVersion: '1',
    pages: 6,
    error: null,
  })
})
