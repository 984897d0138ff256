import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { packPages } from '../../server/analysis/api-pages/pack.ts'
import { markFailed } from '../../server/analysis/docs/service.ts'
import { collectDocs } from '../../server/analysis/docs/store.ts'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { apiOf, declared } from '../support/api.ts'
import { beginDocs, docsState, documentVersion, readDocsPage, storeDocs, storePacked, versionId } from '../support/docs.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { pathOf } from '../support/stored-blobs.ts'

const backends: Record<string, string>[] = [{}, { DOCS_BACKEND: 'filesystem' }]

it('never overwrites newer pages or their state with an older, slower attempt', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await versionId(app, 'acme', '1.0.0')
  const [older, newer] = [await beginDocs(app, id), await beginDocs(app, id)]
  const em = app.services.database.fork()
  expect(await storeDocs(app, id, newer, 'first', '1.0.0')).toBe(true)
  expect(await storeDocs(app, id, older, 'old', '1.0.0')).toBe(false)
  expect(await markFailed(em, id, older, 'too late')).toBe(false)
  expect((await readDocsPage(alice, ''))?.html).toContain('<h1>first ')
  expect(await stored(app)).toBe(2)
  // The existing pages stay available while new ones are generated. If the later of two attempts finishes first, its pages count.
  const third = await beginDocs(app, id)
  expect(await storeDocs(app, id, newer, 'newer', '1.0.0')).toBe(true)
  expect((await alice.graphql(docsState)).body.data.package.latest.apiDocumentation).toMatchObject({
    state: 'RUNNING',
    url: expect.stringContaining('/1.0.0/api'),
  })
  expect(await storeDocs(app, id, third, 'third', '1.0.0')).toBe(true)
  expect((await readDocsPage(alice, ''))?.html).toContain('<h1>third ')
  expect(await stored(app)).toBe(2)
})

it('stores pages that are too large to be read at once', async () => {
  await using app = await testApp({ env: { SCORING_ENABLED: 'false' } })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const large = { path: 'index.html', content: randomBytes(1_200_000).toString('base64') }
  const id = await versionId(app, 'acme', '1.0.0')
  const stored = await storePacked(app, id, await beginDocs(app, id), (file) =>
    packPages([large, { path: 'other.html', content: 'other' }], file),
  )
  expect(stored).toBe(true)
  const [row] = await app.services.database.reads.all<{ pages: number; bytes: number }>('select pages, bytes from version_docs')
  expect(row?.pages).toBe(2)
  expect(Number(row?.bytes)).toBeGreaterThan(1024 ** 2)
  expect((await alice.get('/documentation/acme/1.0.0/other.html')).status).toBe(200)
})

it.each(backends)('deletes documentation along with its version and package (%o)', async (env) => {
  await using app = await testApp({ env: { ...env, SCORING_ENABLED: 'false' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0', '2.0.0']) await publish(alice, { name: 'acme', version })
  const id = await documentVersion(app, 'acme', '1.0.0')
  for (const version of ['1.1.0', '2.0.0'])
    await documentVersion(app, 'acme', version, apiOf([declared('class', 'Version', { doc: version })]))
  expect(await countOf(app.services.docs)).toBe(env.DOCS_BACKEND ? 3 : 6)
  await admin.delete('/api/admin/packages/acme/versions/1.0.0')
  await runJobs(app)
  expect(await countOf(app.services.docs)).toBe(env.DOCS_BACKEND ? 2 : 4)
  expect(await storeDocs(app, id, 1, 'acme', '1.0.0')).toBe(false)
  expect(await alice.get('/documentation/acme/2.0.0/index.json')).toMatchObject({ status: 200 })
  await admin.delete('/api/admin/packages/acme')
  await runJobs(app)
  expect(await countOf(app.services.docs)).toBe(0)
})

it.each(backends)('deletes only documentation that no version refers to (%o)', async (env) => {
  const start = new Date()
  await using app = await testApp({ env: { ...env, SCORING_ENABLED: 'false' }, now: start })
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0')
  const { sha256 } = await app.services.docs.stageWhole('lost', Buffer.from('unreferenced pages'))
  await app.services.docs.promote('lost', sha256)
  app.clock.now = new Date(start.getTime() + 2 * 86_400_000)
  await admin.graphql('mutation { checkIntegrity }')
  await runJobs(app)
  const { integrityReport } = (await admin.graphql('{ integrityReport { orphans damaged } }')).body.data
  expect(integrityReport).toEqual({ orphans: env.DOCS_BACKEND ? 0 : 1, damaged: 0 })
  expect(await collectDocs(app.services)).toBe(env.DOCS_BACKEND ? 1 : 0)
  expect(await collectGarbage(app.services)).toMatchObject({ blobs: env.DOCS_BACKEND ? 0 : 1 })
  expect(await app.services.docs.has(sha256)).toBe(false)
  expect(await alice.get('/documentation/acme/1.0.0/index.json')).toMatchObject({ status: 200 })
  const { disk } = (await admin.graphql('{ serverStatistics { disk { docs { bytes } } } }')).body.data.serverStatistics
  expect(disk.docs.bytes).toBeGreaterThan(1000)
})

it('regenerates damaged pages and restores pages removed by mistake', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  const [first, second] = [await documentVersion(app, 'acme', '1.0.0'), await documentVersion(app, 'acme', '1.1.0')]
  await app.services.docs.remove(await shaOfDocs(app, first), { at: new Date() })
  expect(await alice.get('/documentation/acme/1.0.0/index.json')).toMatchObject({ status: 200 })
  const path = pathOf(app, await shaOfDocs(app, second))
  await writeFile(path, (await readFile(path)).fill(7, 100, 200))
  const sha256 = await shaOfDocs(app, second)
  expect(await alice.get('/documentation/acme/1.1.0/index.json')).toMatchObject({ status: 404 })
  expect((await alice.graphql(docsState)).body.data.package.latest.apiDocumentation).toMatchObject({ state: 'PENDING', url: null })
  expect(await app.services.docs.has(sha256)).toBe(false)
  await runJobs(app, { analyses: true })
  expect(await alice.get('/documentation/acme/1.1.0/index.json')).toMatchObject({ status: 200 })
})

it('regenerates documentation once after a change of DOCS_BACKEND, however many requests need it', async () => {
  await using app = await testApp({ alone: true })
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await documentVersion(app, 'acme', '1.0.0')
  await app.stop()
  await using moved = await testApp({ sameDatabaseAs: app, config: { DOCS_BACKEND: 'filesystem' } })
  await moved.services.database.fork().execute('delete from jobs')
  const page = '/documentation/acme/1.0.0/index.json'
  const asked = await Promise.all([1, 2, 3].map(() => moved.withToken(admin.secret ?? '').get(page)))
  expect(asked.map(({ status }) => status)).toEqual([404, 404, 404])
  expect((await moved.services.database.fork().execute<object[]>('select subject from jobs')).map(Object.values)).toEqual([[id]])
  const { apiDocumentation } = (await moved.withToken(admin.secret ?? '').graphql(docsState)).body.data.package.latest
  expect(apiDocumentation).toMatchObject({ state: 'PENDING', url: null, error: null })
  await runJobs(moved, { analyses: true })
  expect(await moved.withToken(admin.secret ?? '').get(page)).toMatchObject({ status: 200 })
})

it('reports lost documentation where scoring is disabled', async () => {
  await using app = await testApp({ alone: true, env: { SCORING_ENABLED: 'false' } })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await documentVersion(app, 'acme', '1.0.0')
  await rm(pathOf(app, await shaOfDocs(app, id)))
  expect(await readDocsPage(alice, 'shapes/Circle')).toBeNull()
  const { apiDocumentation } = (await alice.graphql(docsState)).body.data.package.latest
  expect(apiDocumentation).toMatchObject({ state: 'FAILED', error: 'the pages are no longer in the store.' })
  expect(await app.services.database.fork().execute('select 1 from jobs')).toEqual([])
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
