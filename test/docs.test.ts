import { readFile, writeFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { markFailed } from '../server/docs/service.ts'
import { collectDocs } from '../server/docs/collect.ts'
import { Job } from '../server/jobs/entity.ts'
import { collectGarbage } from '../server/uploads/collect.ts'
import { type TestApp, testApp } from './app.ts'
import { beginDocs, documentVersion, storeDocs, versionId } from './support/docs.ts'
import { runJobs } from './support/jobs.ts'
import { dependent, makePublic, publicApp } from './support/public-packages.ts'
import { publish } from './support/publish.ts'
import { pathOf } from './support/stored.ts'

const page = { headers: { accept: 'text/html,*/*;q=0.8' } }
const backends: Record<string, string>[] = [{}, { DOCS_BACKEND: 'filesystem' }]
const state = '{ package(name: "acme") { latest { apiDocumentation { state url engine engineVersion generatedAt pages error } } } }'

it('serves the pages of a version, and of the latest one, to whoever signed in', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.1.0+2' })
  await documentVersion(app, 'acme', '1.0.0')
  await documentVersion(app, 'acme', '1.1.0+2')
  const first = await alice.get('/documentation/acme/1.0.0/shapes/Circle.html', page)
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
  expect((await alice.get('/documentation/acme/latest/', page)).body).toContain('<h1>acme 1.1.0+2 ')
  expect((await alice.get('/documentation/acme/1.1.0%2B2/shapes/', page)).body).toContain('<h1>shapes ')
  for (const path of ['/documentation/acme', '/documentation/acme/', '/documentation/acme/latest'])
    expect(await alice.get(path)).toMatchObject({ status: 303, headers: { location: 'http://localhost:8080/documentation/acme/latest/' } })
  expect(await alice.get('/documentation/acme/1.1.0%2B2')).toMatchObject({
    headers: { location: 'http://localhost:8080/documentation/acme/1.1.0%2B2/' },
  })
  const session = await alice.session()
  expect(await session.get('/documentation/acme/latest/search.html')).toMatchObject({ status: 200 })
})

it('sends pages as they are kept, and only once', async () => {
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

it('lets a page be sandboxed over https, where browsers would refuse it beside that header', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  const { headers } = await alice.get('/documentation/acme/latest/', { headers: { 'x-forwarded-proto': 'https' }, ip: '127.0.0.1' })
  expect(headers['content-security-policy']).toContain('script-src https://localhost:8080/documentation/-/;')
  expect(headers).not.toHaveProperty('cross-origin-opener-policy')
})

it('says what is the matter where there is no page, in the words of whoever asks', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const index = '/documentation/acme/latest/index.html'
  expect(await alice.get(index)).toMatchObject({
    status: 404,
    body: { error: { code: 'NotFound', message: 'acme 1.0.0 has no documentation yet.' } },
  })
  expect((await alice.get(index, page)).body).toContain('about to be generated')
  await app.services.database.fork().nativeDelete(Job, { kind: 'analysis' })
  expect(await alice.get(index, page)).toMatchObject({ status: 404, body: expect.stringContaining('It was not asked for yet.') })
  const id = await versionId(app, 'acme', '1.0.0')
  const attempt = await beginDocs(app, id)
  const em = app.services.database.fork()
  expect((await alice.get(index, page)).body).toContain('being generated')
  await markFailed(em, id, attempt, '<b>Out of memory</b>')
  expect((await alice.get(index, page)).body).toContain('It could not be generated: &lt;b&gt;Out of memory&lt;/b&gt;')
  await documentVersion(app, 'acme', '1.0.0')
  const missing = await alice.get('/documentation/acme/latest/shapes/Square.html', page)
  expect(missing).toMatchObject({ status: 404, body: expect.stringContaining('href="/documentation/acme/latest/search.html"') })
  expect(missing.headers['content-security-policy']).toContain('sandbox')
  for (const path of [
    '/documentation/acme/9.9.9/',
    '/documentation/nothing/latest/',
    '/documentation/acme/next/',
    '/documentation/A-b/latest/',
  ])
    expect(await alice.get(path, page)).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } })
  for (const path of ['..%2f..%2findex.html', '%2e%2e/index.html', 'shapes%2findex.html%00'])
    expect([200, 404]).toContain((await alice.get(`/documentation/acme/latest/${path}`)).status)
})

it('asks whoever did not sign in to do so, and shows them what is public, but no version that needs a private package', async () => {
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
  expect(await anonymous.get('/documentation/acme/latest/', page)).toMatchObject({
    status: 200,
    body: expect.stringContaining('acme 1.0.0'),
    headers: { 'cache-control': 'no-cache' },
  })
  const refused = await anonymous.get('/documentation/secret/latest/index.html', page)
  expect(refused).toMatchObject({
    status: 401,
    body: expect.stringContaining('/login?redirect=%2Fdocumentation%2Fsecret%2Flatest%2Findex.html'),
    headers: { 'www-authenticate': expect.stringContaining('Bearer realm="pub"') },
  })
  const absent = await anonymous.get('/documentation/absent/latest/index.html', page)
  expect(refused.body.replaceAll('secret', '')).toBe(absent.body.replaceAll('absent', ''))
  for (const path of ['acme/2.0.0/', 'acme/2.0.0/shapes/index.html', 'secret/1.0.0/'])
    expect(await anonymous.get(`/documentation/${path}`)).toMatchObject({ status: 401 })
  expect((await alice.get('/documentation/acme/latest/')).body).toContain('acme 2.0.0')
})

it('tells the state on GraphQL', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const read = async () => (await alice.graphql(state)).body.data.package.latest.apiDocumentation
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

it('never lets a slower, older attempt overwrite newer pages, nor its state', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await versionId(app, 'acme', '1.0.0')
  const [older, newer] = [await beginDocs(app, id), await beginDocs(app, id)]
  const em = app.services.database.fork()
  expect(await storeDocs(app, id, newer, 'acme', '1.0.0')).toBe(true)
  expect(await storeDocs(app, id, older, 'acme', 'old')).toBe(false)
  expect(await markFailed(em, id, older, 'too late')).toBe(false)
  expect((await alice.get('/documentation/acme/latest/')).body).toContain('<h1>acme 1.0.0 ')
  expect(await stored(app)).toBe(2)
  // Pages stay while newer ones are made, and are there again at once when one asked for later comes first.
  const third = await beginDocs(app, id)
  expect(await storeDocs(app, id, newer, 'acme', 'newer')).toBe(true)
  expect((await alice.graphql(state)).body.data.package.latest.apiDocumentation).toMatchObject({
    state: 'RUNNING',
    url: expect.stringContaining('/1.0.0/'),
  })
  expect(await storeDocs(app, id, third, 'acme', 'third')).toBe(true)
  expect((await alice.get('/documentation/acme/latest/')).body).toContain('<h1>acme third ')
  expect(await stored(app)).toBe(2)
})

it.each(backends)('takes documentation out of the store with its version and its package (%o)', async (env) => {
  await using app = await testApp({ env: { ...env, SCORING_ENABLED: 'false' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0', '2.0.0']) await publish(alice, { name: 'acme', version })
  const id = await documentVersion(app, 'acme', '1.0.0')
  for (const version of ['1.1.0', '2.0.0']) await documentVersion(app, 'acme', version)
  expect(await countOf(app.services.docs)).toBe(env.DOCS_BACKEND ? 3 : 6)
  await admin.delete('/api/admin/packages/acme/versions/1.0.0')
  await runJobs(app)
  expect(await countOf(app.services.docs)).toBe(env.DOCS_BACKEND ? 2 : 4)
  expect(await storeDocs(app, id, 1, 'acme', '1.0.0')).toBe(false)
  expect(await alice.get('/documentation/acme/2.0.0/')).toMatchObject({ status: 200 })
  await admin.delete('/api/admin/packages/acme')
  await runJobs(app)
  expect(await countOf(app.services.docs)).toBe(0)
})

it.each(backends)('collects what no version has, and nothing else (%o)', async (env) => {
  const start = new Date()
  await using app = await testApp({ env: { ...env, SCORING_ENABLED: 'false' }, now: start })
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  const { sha256 } = await app.services.docs.stageWhole('lost', Buffer.from('pages that nobody stored'))
  await app.services.docs.promote('lost', sha256)
  app.clock.now = new Date(start.getTime() + 2 * 86_400_000)
  await admin.graphql('mutation { checkIntegrity }')
  await runJobs(app)
  const { integrityReport } = (await admin.graphql('{ integrityReport { orphans damaged } }')).body.data
  expect(integrityReport).toEqual({ orphans: env.DOCS_BACKEND ? 0 : 1, damaged: 0 })
  expect(await collectDocs(app.services)).toBe(env.DOCS_BACKEND ? 1 : 0)
  expect(await collectGarbage(app.services)).toMatchObject({ blobs: env.DOCS_BACKEND ? 0 : 1 })
  expect(await app.services.docs.has(sha256)).toBe(false)
  expect(await alice.get('/documentation/acme/1.0.0/')).toMatchObject({ status: 200 })
  const { disk } = (await admin.graphql('{ serverStatistics { disk { docs { bytes } } } }')).body.data.serverStatistics
  expect(disk.docs.bytes).toBeGreaterThan(1000)
})

it('says that pages are damaged instead of serving them, and brings back what was removed by mistake', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  const [first, second] = [await documentVersion(app, 'acme', '1.0.0'), await documentVersion(app, 'acme', '1.1.0')]
  await app.services.docs.remove(await shaOfDocs(app, first), { at: new Date() })
  expect(await alice.get('/documentation/acme/1.0.0/')).toMatchObject({ status: 200 })
  const path = pathOf(app, await shaOfDocs(app, second))
  await writeFile(path, (await readFile(path)).fill(7, 100, 200))
  const answer = await alice.get('/documentation/acme/1.1.0/', page)
  expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '300' }, body: expect.stringContaining('missing or damaged') })
})

const stored = ({ services }: TestApp) => countOf(services.blobs)
async function countOf(store: TestApp['services']['docs']): Promise<number> {
  let count = 0
  for await (const _ of store.list()) count += 1
  return count
}
async function shaOfDocs(app: TestApp, id: string): Promise<string> {
  const row = await app.services.database.reads.get<{ sha256: string }>('select sha256 from version_docs where version_id = ?', id)
  return row?.sha256 ?? ''
}
