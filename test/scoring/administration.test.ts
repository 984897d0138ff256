import { expect, it } from 'vitest'
import { writeLog } from '../../server/analysis/scoring/store.ts'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'
import { emptyQueue, failed, reportOf, storeReport } from '../support/reports.ts'

const changes = [
  ['post', '/api/admin/packages/acme/versions/1.0.0/rescore'],
  ['post', '/api/admin/packages/acme/regenerate-docs'],
  ['post', '/api/admin/sdk/score-remaining'],
] as const
const failure = (status: number, code: string, message: unknown = expect.any(String)) => ({ status, body: { error: { code, message } } })

const queuedAnalyses = ({ services }: TestApp) =>
  services.database.fork().execute<{ version: string; priority: number }[]>(
    `select v.version, j.priority from jobs j join package_versions v on cast(v.id as varchar(36)) = j.subject
       where j.kind = 'analysis' and j.state = 'queued' order by j.priority, j.run_at`,
  )

it('queues a new analysis of a version once, and of the latest version for documentation', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0', '2.0.0-dev']) await publish(alice, { name: 'acme', version })
  await emptyQueue(app)
  const queued = { status: 200, body: { status: 'queued', jobId: expect.stringMatching(/^[0-9a-f-]{36}$/) } }
  const first = await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')
  expect(first).toMatchObject(queued)
  expect((await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')).body).toEqual(first.body)
  expect(await admin.post('/api/admin/packages/acme/regenerate-docs')).toMatchObject(queued)
  expect((await queuedAnalyses(app)).map(({ version }) => version)).toEqual(['1.0.0', '1.1.0'])
  expect(await admin.post('/api/admin/packages/acme/versions/9.9.9/rescore')).toMatchObject(
    failure(404, 'NotFound', 'There is no acme 9.9.9 on this server.'),
  )
  expect(await admin.post('/api/admin/packages/nothing/regenerate-docs')).toMatchObject(failure(404, 'NotFound'))
  expect(await admin.post('/api/admin/packages/Acme!/regenerate-docs')).toMatchObject(failure(400, 'InvalidInput'))
})

it('queues all versions without a report behind new publishes, the newest first', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const versions = ['1.0.0', '1.1.0', '1.2.0', '1.3.0', '1.4.0']
  for (const version of versions) await publish(alice, { name: 'acme', version })
  await emptyQueue(app)
  await storeReport(app, 'acme', reportOf(1, 2), '1.3.0')
  await failed(app, 'acme', 'It failed.')
  await admin.post('/api/admin/packages/acme/versions/1.1.0/rescore')
  expect((await admin.get('/api/admin/sdk/settings')).body).toMatchObject({
    coverage: { versions: 5, scored: 1 },
    workers: { active: 0, queued: 1 },
  })
  expect(await admin.post('/api/admin/sdk/score-remaining')).toMatchObject({ status: 200, body: { queued: 3 } })
  expect(await admin.post('/api/admin/sdk/score-remaining')).toMatchObject({ body: { queued: 0 } })
  await publish(alice, { name: 'acme', version: '0.9.0' })
  expect((await queuedAnalyses(app)).map(({ version }) => version)).toEqual(['1.1.0', '0.9.0', '1.4.0', '1.2.0', '1.0.0'])
  expect((await admin.get('/api/admin/sdk/settings')).body.workers).toEqual({ active: 0, queued: 5 })
  await emptyQueue(app)
  expect((await admin.graphql('mutation { rescoreAllVersions }')).body.data).toEqual({ rescoreAllVersions: 6 })
})

it('answers 409 while scoring is disabled, and for documentation while only that is disabled', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await admin.put('/api/admin/sdk/settings', { docsEnabled: false })
  expect(await admin.post('/api/admin/packages/acme/regenerate-docs')).toMatchObject(
    failure(409, 'Conflict', expect.stringContaining('documentation')),
  )
  expect(await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')).toMatchObject({ status: 200 })
  await admin.put('/api/admin/sdk/settings', { scoringEnabled: false })
  const off = failure(409, 'Conflict', 'Scoring is switched off. Switch it on in the scoring settings first.')
  for (const [method, path] of changes) expect(await admin[method](path)).toMatchObject(off)
  expect((await admin.graphql('mutation { rescoreAllVersions }')).body.errors[0].extensions.code).toBe('Conflict')
  app.config.SCORING_ENABLED = false
  for (const [method, path] of changes)
    expect(await admin[method](path)).toMatchObject(failure(409, 'Conflict', expect.stringContaining('SCORING_ENABLED')))
  const denied = failure(403, 'InsufficientPermissions', expect.stringContaining('SCORING_ENABLED'))
  expect(await admin.put('/api/admin/sdk/settings', { scoringEnabled: true })).toMatchObject(denied)
})

it('changes the given settings within bounds and records it', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const initial = { permittedByEnvironment: true, scoringEnabled: true, docsEnabled: true, concurrency: 1, timeoutSeconds: 300 }
  expect(await admin.get('/api/admin/sdk/settings')).toMatchObject({ status: 200, body: initial })
  const changed = await admin.put('/api/admin/sdk/settings', { concurrency: 2, timeoutSeconds: 60, unknown: 1 })
  expect(changed).toMatchObject({ status: 200, body: { ...initial, concurrency: 2, timeoutSeconds: 60 } })
  await admin.put('/api/admin/sdk/settings', { concurrency: 2 })
  for (const [field, value] of Object.entries({ concurrency: 17, timeoutSeconds: 9, scoringEnabled: 'yes' }))
    expect(await admin.put('/api/admin/sdk/settings', { [field]: value })).toMatchObject(
      failure(400, 'InvalidInput', expect.stringContaining(field)),
    )
  const { entries } = (await admin.get('/api/admin/audit-log?kind=server.settings_updated')).body
  expect(entries).toHaveLength(1)
  expect(entries[0].summary).toMatch(/changed the scoring settings: 2 at once, 60 seconds each$/)
})

it('keeps the newest thousand log lines by level until they are cleared', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await storeReport(app, 'acme', reportOf(1, 2))
  await failed(app, 'acme', 'It failed.')
  const { entries } = (await admin.get('/api/admin/sdk/scoring-logs')).body
  const about = { at: expect.stringMatching(/Z$/), package: 'acme', version: '1.0.0' }
  expect(entries).toEqual([
    { ...about, level: 'error', message: 'It failed.' },
    { ...about, level: 'info', message: 'passed 5 of 10 checks (built-in 1)' },
  ])
  const errors = '{ scoringLog(first: 5, level: ERROR) { totalCount nodes { level message } } }'
  expect((await admin.graphql(errors)).body.data.scoringLog).toEqual({ totalCount: 1, nodes: [{ level: 'ERROR', message: 'It failed.' }] })
  await app.services.database.fork().transactional(async (em) => {
    for (let line = 0; line < 1005; line++) await writeLog(em, { level: 'info', message: `line ${line}` })
  })
  const kept = (await admin.get('/api/admin/sdk/scoring-logs')).body.entries as { message: string }[]
  expect([kept.length, kept[0]?.message, kept.at(-1)?.message]).toEqual([1000, 'line 1004', 'line 5'])
  expect(await admin.delete('/api/admin/sdk/scoring-logs')).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect((await admin.get('/api/admin/sdk/scoring-logs')).body.entries).toEqual([])
  const { entries: audited } = (await admin.get('/api/admin/audit-log?kind=server.settings_updated')).body
  expect(audited).toMatchObject([{ summary: expect.stringMatching(/^Cleared the scoring log$/) }])
})

it('requires an administrator', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const rows = [...changes, ['get', '/api/admin/sdk/settings'], ['put', '/api/admin/sdk/settings']] as const
  for (const [method, path] of [...rows, ['get', '/api/admin/sdk/scoring-logs'], ['delete', '/api/admin/sdk/scoring-logs']] as const) {
    for (const actor of [alice, await app.withScopes(admin, ['write'])])
      expect(await actor[method](path)).toMatchObject(failure(403, 'InsufficientPermissions'))
    expect(await app.anonymous[method](path)).toMatchObject(failure(401, 'MissingAuthentication'))
  }
})
