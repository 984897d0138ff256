import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { markFailed } from '../../server/analysis/docs/service.ts'
import { Job } from '../../server/platform/jobs/entity.ts'
import { packPages } from '../../server/analysis/api-pages/pack.ts'
import { testApp } from '../app.ts'
import { dartdocFolder } from '../support/dartdoc.ts'
import { beginDocs, docsPage, docsState, documentVersion, importDocs, readDocsPage, storePacked, versionId } from '../support/docs.ts'
import { runJobs } from '../support/jobs.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

it('redirects old addresses of pages to the console, and answers them from there', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.1.0+2' })
  await documentVersion(app, 'acme', '1.0.0')
  await documentVersion(app, 'acme', '1.1.0+2')
  const targets = {
    acme: 'acme/api',
    'acme/': 'acme/api',
    'acme/latest': 'acme/api',
    'acme/latest/': 'acme/api',
    'acme/latest/index.html': 'acme/api',
    'acme/latest/search.html': 'acme/api',
    'acme/1.0.0': 'acme/versions/1.0.0/api',
    'acme/1.0.0/shapes/': 'acme/versions/1.0.0/api/shapes',
    'acme/1.0.0/shapes/index.html': 'acme/versions/1.0.0/api/shapes',
    'acme/1.1.0%2B2/shapes/Circle.html': 'acme/versions/1.1.0%2B2/api/shapes/Circle',
    'acme/1.0.0/shapes%2F..%2F%0d%0ax.html': 'acme/versions/1.0.0/api/shapes/%0D%0Ax',
  }
  for (const [path, target] of Object.entries(targets)) {
    const { status, headers } = await alice.get(`/documentation/${path}`, docsPage)
    expect({ path, status, location: headers.location, caching: headers['cache-control'] }).toEqual({
      path,
      status: 301,
      location: `http://localhost:8080/packages/${target}`,
      caching: 'private, no-store',
    })
  }
  const url = 'http://localhost:8080/packages/acme/versions/1.1.0%2B2/api/shapes'
  expect(await readDocsPage(alice, 'shapes/Circle')).toMatchObject({ path: 'shapes/Circle', url: `${url}/Circle`, title: 'Circle' })
  for (const [path, found] of Object.entries({
    'shapes/Circle-class': { path: 'shapes/Circle', anchor: null, isExact: true },
    '/shapes/Circle/': { path: 'shapes/Circle', anchor: null, isExact: true },
    'shapes/Circle/Circle.around': { path: 'shapes/Circle', anchor: 'Circle.around', isExact: true },
    'shapes/Circle/around': { path: 'shapes/Circle', anchor: 'Circle.around', isExact: true },
    'shapes/Circle/absent': { path: 'shapes/Circle', anchor: null, isExact: false },
    'shapes/Circle/around/more': { path: 'shapes/Circle', anchor: null, isExact: false },
    'shapes/largest': { path: 'shapes', anchor: 'largest', isExact: true },
    'extras/Shape/area': { path: 'shapes/Shape', anchor: 'area', isExact: true },
    'shapes/Square': { path: 'shapes', anchor: null, isExact: false },
  }))
    expect({ path, found: await readDocsPage(alice, path) }).toMatchObject({ path, found })
  for (const absent of ['*symbols', '*libraries/..', 'other/Square', '../..'])
    expect({ absent, found: await readDocsPage(alice, absent) }).toMatchObject({ absent, found: { path: '', kind: 'package' } })
  expect((await readDocsPage(alice, 'shapes/Shape'))?.html).toContain(
    'href="/packages/acme/versions/1.1.0%2B2/api/shapes/Circle">Circle</a>',
  )
})

it('lists the libraries, and the declarations of a file', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const query = `{ package(name: "acme") { latest { apiDocumentation {
    libraries { name path declarations { name kind path anchor isDeprecated } }
    declarations(file: "lib/shapes.dart") { name line path anchor } absent: declarations(file: "lib/absent.dart") { name }
  } } } }`
  const read = async () => (await alice.graphql(query)).body.data.package.latest.apiDocumentation
  expect(await read()).toEqual({ libraries: [], declarations: [], absent: [] })
  await documentVersion(app, 'acme', '1.0.0')
  const { libraries, declarations, absent } = await read()
  expect(libraries).toMatchObject(
    [
      { name: 'extras', declarations: [] },
      { name: 'shapes', path: 'shapes' },
    ].toReversed(),
  )
  expect(libraries[0].declarations).toContainEqual({
    name: 'largest',
    kind: 'function',
    path: 'shapes',
    anchor: 'largest',
    isDeprecated: false,
  })
  expect(declarations).toContainEqual({ name: 'Shape.area', line: expect.any(Number), path: 'shapes/Shape', anchor: 'area' })
  expect(absent).toEqual([])
})

it('serves pages of dartdoc with their own layout, compressed and uncompressed', async () => {
  await using app = await testApp()
  await using folder = await dartdocFolder()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await importDocs(app, 'acme', '1.0.0', folder.path)
  expect(await alice.get('/documentation/acme')).toMatchObject({
    status: 303,
    headers: { location: 'http://localhost:8080/documentation/acme/latest/' },
  })
  const path = '/documentation/acme/latest/shapes/Circle-class.html'
  const plain = await alice.get(path, docsPage)
  expect(plain).toMatchObject({
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
  const gzipped = await alice.get(path, { headers: { 'accept-encoding': 'gzip' } })
  expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding, authorization, cookie' })
  expect(gunzipSync(gzipped.raw).toString()).toBe(plain.body)
  const etag = plain.headers.etag ?? ''
  expect(await alice.get(path, { headers: { 'if-none-match': etag } })).toMatchObject({ status: 304, body: '' })
  expect(await alice.head(path)).toMatchObject({ status: 200, body: '', headers: { etag, 'content-length': String(plain.raw.length) } })
  expect(await alice.head('/documentation/-/docs.js')).toMatchObject({
    status: 200,
    headers: { 'cross-origin-resource-policy': 'cross-origin' },
  })
  const missing = await alice.get('/documentation/acme/latest/shapes/Square.html', docsPage)
  expect(missing).toMatchObject({ status: 404, body: expect.stringContaining('href="/documentation/acme/latest/search.html"') })
  expect(missing.headers['content-security-policy']).toContain('sandbox')
  // The console leads on to these pages.
  const url = 'http://localhost:8080/documentation/acme/1.0.0'
  expect(await readDocsPage(alice, 'shapes/Circle')).toMatchObject({ url: `${url}/shapes/Circle-class.html`, html: null })
  expect(await readDocsPage(alice, 'shapes/Square')).toMatchObject({ url: `${url}/shapes/index.html`, html: null })
  expect(await readDocsPage(alice, 'absent')).toMatchObject({ url: `${url}/index.html`, html: null })
})

it('replaces pages of earlier versions of the server when someone opens them, and shows them until then', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await app.services.database.fork().nativeDelete(Job, { kind: 'analysis' })
  const id = await versionId(app, 'acme', '1.0.0')
  const pages = [{ path: 'index.html', content: '<h1>Old</h1>' }]
  await storePacked(app, id, await beginDocs(app, id), (file) => packPages(pages, file))
  expect(await alice.get('/documentation/acme/1.0.0/', docsPage)).toMatchObject({ status: 200, body: '<h1>Old</h1>' })
  expect(await readDocsPage(alice, 'shapes')).toMatchObject({
    url: 'http://localhost:8080/documentation/acme/1.0.0/index.html',
    html: null,
  })
  expect(await app.services.database.fork().count(Job, { kind: 'analysis', subject: id })).toBe(1)
  await runJobs(app, { analyses: true })
  expect(await alice.get('/documentation/acme/1.0.0/', docsPage)).toMatchObject({ status: 301 })
})

it('links pages to the package and to the same page of other versions with documentation', async () => {
  await using app = await publicApp()
  await using folder = await dartdocFolder()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0+1']) await publish(alice, { name: 'acme', version })
  for (const version of ['1.0.0', '1.1.0', '1.3.0+1']) await importDocs(app, 'acme', version, folder.path)
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
  await importDocs(app, 'acme', '1.2.0', folder.path)
  const later = await alice.get(path, { headers: { 'if-none-match': String(headers.etag) } })
  expect(later).toMatchObject({ status: 200, body: expect.stringContaining('/documentation/acme/1.2.0/shapes/') })
})

it('sandboxes pages over https without the header that browsers refuse with a sandbox', async () => {
  await using app = await testApp()
  await using folder = await dartdocFolder()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await importDocs(app, 'acme', '1.0.0', folder.path)
  const { headers } = await alice.get('/documentation/acme/latest/', { headers: { 'x-forwarded-proto': 'https' }, ip: '127.0.0.1' })
  expect(headers['content-security-policy']).toContain('script-src https://localhost:8080/documentation/-/;')
  expect(headers).not.toHaveProperty('cross-origin-opener-policy')
})

it('leads to the console for documentation that is not generated yet, and rejects unknown versions', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  expect(await alice.get('/documentation/acme/1.0.0/shapes/', docsPage)).toMatchObject({
    status: 301,
    headers: { location: 'http://localhost:8080/packages/acme/versions/1.0.0/api/shapes' },
  })
  expect(await readDocsPage(alice, 'shapes')).toBeNull()
  expect(await alice.get('/documentation/acme/latest/index.json')).toMatchObject({
    status: 404,
    body: { error: { code: 'NotFound', message: 'acme 1.0.0 has no documentation yet.' } },
  })
  for (const path of [
    '/documentation/acme/9.9.9/',
    '/documentation/nothing/latest/',
    '/documentation/acme/next/',
    '/documentation/A-b/latest/',
  ])
    expect(await alice.get(path, docsPage)).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } })
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
    status: 301,
    headers: { 'cache-control': 'private, no-store' },
  })
  expect(await readDocsPage(anonymous, '')).toMatchObject({ url: 'http://localhost:8080/packages/acme/versions/1.0.0/api' })
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
  expect(await readDocsPage(anonymous, '', 'version(version: "2.0.0")')).toBeNull()
  expect(await readDocsPage(alice, '')).toMatchObject({ url: expect.stringContaining('/2.0.0/api') })
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
    url: 'http://localhost:8080/packages/acme/versions/1.0.0/api',
    engine: 'built-in',
    engineVersion: '1',
    pages: 5,
    error: null,
  })
})
