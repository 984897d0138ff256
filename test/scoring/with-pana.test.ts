import { afterAll, expect, it } from 'vitest'
import { openAnalyzer } from '../../server/analysis/report/analyze.ts'
import { jobHandlers } from '../../server/job-handlers.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { notePana } from '../../server/analysis/scoring/store.ts'
import { SdkInstall } from '../../server/analysis/sdks/entity.ts'
import { scoringSettings } from '../../server/platform/settings/scoring.ts'
import { writeSetting } from '../../server/platform/settings/service.ts'
import { thisPlatform } from '../../server/analysis/sdks/platform.ts'
import { pathsOf } from '../../server/analysis/sdks/ready.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { installFakeSdk } from '../support/fake-sdk.ts'
import { runJobs } from '../support/jobs.ts'
import { attackFiles } from '../support/fake-pana.ts'
import { publish } from '../support/publish.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'

const analyses = { analyses: true }
const shared = openAnalyzer()
afterAll(() => shared.close())

async function scoringApp(): Promise<TestApp> {
  const app = await testApp()
  app.services.analyzer = { ...shared, close: async () => {} }
  return app
}

/** Installs an SDK whose pana returns a recorded report, as the default. */
async function withSdk({ config, services }: TestApp): Promise<SdkInstall> {
  const em = services.database.fork()
  const made = { kind: 'dart', version: '3.11.0', channel: 'stable', status: 'ready', isDefault: true } as const
  const install = em.create(SdkInstall, { ...made, platform: thisPlatform().sdkPlatform, dartVersion: '3.11.0', panaVersion: '0.23.18' })
  await em.flush()
  installFakeSdk(pathsOf(config, install).folder)
  return install
}

/** Simulates a pana that runs out of memory and writes no report. */
const outOfMemory = { ...attackFiles('echo "Exhausted heap space, trying to allocate 99 bytes."'), 'tool/report.json': '' }

const query = `{ package(name: "acme") { latest {
  score { status error engine grantedPoints passedChecks awaitsPana log report { notes checks { key } notMeasured { key } } } apiDocumentation { state engine }
} } }`
const latest = async (actor: Actor) => (await actor.graphql(query)).body.data.package.latest

it('analyzes with pana after the built-in engine once an SDK is installed, and keeps the report during later runs', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await runJobs(app, analyses)
  const before = await latest(alice)
  expect(before).toMatchObject({
    score: { status: 'COMPLETED', engine: 'built-in', awaitsPana: false },
    apiDocumentation: { engine: 'built-in' },
  })
  await withSdk(app)
  expect((await admin.graphql('mutation { rescoreAllVersions }')).body.data).toEqual({ rescoreAllVersions: 1 })
  await runJobs(app, analyses)
  const { score, apiDocumentation } = await latest(alice)
  expect(score).toMatchObject({
    status: 'COMPLETED',
    error: null,
    engine: 'pana',
    awaitsPana: false,
    log: expect.stringContaining('Running `dart pub get`'),
    passedChecks: before.score.passedChecks,
    report: { checks: before.score.report.checks },
  })
  expect(score.report.notMeasured.map(({ key }: { key: string }) => key)).toContain('license')
  expect(apiDocumentation).toEqual({ state: 'COMPLETED', engine: 'dartdoc' })
  const { jobs } = (await admin.graphql('{ jobs(first: 5, kind: "analysis.pana") { nodes { version { version } } } }')).body.data
  expect(jobs.nodes).toEqual([{ version: { version: '1.0.0' } }])
  expect((await admin.get('/api/packages/acme/score')).body).toMatchObject({
    status: 'completed',
    tags: expect.arrayContaining(['platform:web']),
  })

  await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')
  await runJobs({ services: { ...app.services, config: { ...app.config, DATA_DIR: `${app.config.DATA_DIR}/elsewhere` } } }, analyses)
  // This instance has no SDK on its disk, so the job waits for an instance that does.
  expect((await latest(alice)).score).toMatchObject({
    status: 'COMPLETED',
    engine: 'pana',
    grantedPoints: score.grantedPoints,
    passedChecks: score.passedChecks,
    awaitsPana: true,
  })
  await runJobs(app, analyses)
  expect((await latest(alice)).score).toMatchObject({ engine: 'pana', awaitsPana: false })
})

it('uses the built-in engine for Flutter packages and failures of pana, and reports it', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await withSdk(app)
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: 'dependencies:\n  flutter:\n    sdk: flutter\n' })
  await runJobs(app, analyses)
  const { score, apiDocumentation } = await latest(alice)
  expect(score).toMatchObject({ status: 'COMPLETED', engine: 'built-in', awaitsPana: false })
  expect(score.report.notes).toContainEqual(expect.stringMatching(/^pana did not judge this version: .*Flutter/))
  expect(apiDocumentation).toEqual({ state: 'COMPLETED', engine: 'built-in' })

  await publish(alice, { name: 'acme', version: '1.1.0', files: { 'tool/report.json': 'no report' } })
  for (let attempt = 0; attempt < 3; attempt++) {
    await runJobs(app, analyses)
    app.clock.now = new Date(Date.now() + 3_600_000 * (1 + attempt))
  }
  expect((await latest(alice)).score).toMatchObject({
    status: 'COMPLETED',
    engine: 'built-in',
    awaitsPana: false,
    error: null,
    report: { notes: [expect.stringContaining('pana did not judge this version')] },
  })
  const { entries } = (await admin.get('/api/admin/sdk/scoring-logs')).body
  expect(entries[0]).toMatchObject({ level: 'warning', version: '1.1.0', message: expect.stringContaining('not analyzed by pana') })
})

it('keeps the built-in documentation and reports a failure for an unknown layout of dart doc', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const spoil = 'echo "<html><body><h1>acme</h1></body></html>" > docs/index.html'
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'tool/after_analysis.sh': spoil } })
  await runJobs(app, analyses)
  await withSdk(app)
  await admin.graphql('mutation { rescoreAllVersions }')
  await runJobs(app, analyses)
  const error = 'dart doc wrote the page index.html in a layout that this server does not know.'
  const { latest: version } = (
    await alice.graphql(
      '{ package(name: "acme") { latest { score { engine report { notes } } apiDocumentation { state engine error } } } }',
    )
  ).body.data.package
  expect(version).toEqual({
    score: { engine: 'pana', report: { notes: [] } },
    apiDocumentation: { state: 'FAILED', engine: 'built-in', error },
  })
  expect(await alice.get('/documentation/acme/1.0.0/index.html')).toMatchObject({ status: 301 })
  const [job] = (await admin.graphql('{ jobs(first: 1, kind: "analysis.pana") { nodes { state attempts error } } }')).body.data.jobs.nodes
  expect(job).toEqual({ state: 'FAILED', attempts: 1, error: `no documentation by dart doc: ${error}` })
  expect((await admin.get('/api/admin/sdk/scoring-logs')).body.entries[0]).toMatchObject({
    level: 'warning',
    package: 'acme',
    message: `no documentation by dart doc: ${error}`,
  })
})

it.each([
  ['that exceeds the time limit as final', attackFiles('sleep 60'), 1, 'pana exceeded the time limit of 1 seconds.'],
  ['that exceeds the memory limit as final', outOfMemory, 60, 'pana exceeded the memory limit.'],
  ['that may be temporary by a retry', { 'tool/report.json': 'none' }, 60, null],
])('handles a failure of pana %s, with final failures in the report, also from an earlier run', async (_what, files, seconds, reason) => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await withSdk(app)
  await publish(alice, { name: 'acme', version: '1.0.0', files })
  const id = await versionId(app, 'acme')
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1, { engine: { name: 'pana', version: '0.1' } }) })
  const settings = { ...scoringSettings.initial, timeoutSeconds: seconds }
  await app.services.database.fork().transactional((em) => writeSetting(em, scoringSettings, settings))
  await runJobs(app, analyses)
  const [job] = (await admin.graphql('{ jobs(first: 1, kind: "analysis.pana") { nodes { state attempts error } } }')).body.data.jobs.nodes
  const { score } = await latest(alice)
  expect(score).toMatchObject({ status: 'COMPLETED', engine: 'pana', error: null, awaitsPana: reason === null })
  if (reason === null) return expect([job, score.report.notes]).toMatchObject([{ state: 'QUEUED', attempts: 1 }, []])
  expect(job).toEqual({ state: 'FAILED', attempts: 1, error: reason })
  expect(score.report.notes).toEqual([`pana did not judge this version again: ${reason}`])
  expect((await admin.get('/api/admin/sdk/scoring-logs')).body.entries[0]).toMatchObject({ message: `not analyzed by pana: ${reason}` })
})

it('keeps the result of an analysis that began before an earlier failure was recorded', async () => {
  await using app = await scoringApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await versionId(app, 'acme')
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 2) })
  const note = () => app.services.database.fork().transactional((em) => notePana(em, id, 'It took too long.'))
  const [, later] = [await begin(app, id), await begin(app, id)]
  await note()
  expect((await latest(alice)).score).toMatchObject({
    grantedPoints: 1,
    report: { notes: ['pana did not judge this version: It took too long.'] },
  })
  expect(await store(app, id, { generation: later, report: reportOf(2, 2) })).toBe(true)
  await note()
  expect(await store(app, id, { generation: await begin(app, id), report: reportOf(2, 2, { notes: ['Fine.'] }) })).toBe(true)
  expect((await latest(alice)).score).toMatchObject({ grantedPoints: 2, report: { notes: ['Fine.'] } })
})

it('shows and changes the default SDK in the settings', async () => {
  await using app = await scoringApp()
  const admin = await app.admin()
  expect((await admin.get('/api/admin/sdk/settings')).body).toMatchObject({ defaultSdk: null })
  const { id } = await withSdk(app)
  expect((await admin.get('/api/admin/sdk/settings')).body).toMatchObject({ defaultSdk: id })
  expect(await admin.put('/api/admin/sdk/settings', { defaultSdk: id })).toMatchObject({ status: 200, body: { defaultSdk: id } })
  const unknown = '00000000-0000-7000-8000-000000000000'
  expect(await admin.put('/api/admin/sdk/settings', { defaultSdk: unknown })).toMatchObject({ status: 404 })
})

it('returns the job to the queue when the server stops while pana writes log lines continuously', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await withSdk(app)
  await publish(alice, { name: 'acme', version: '1.0.0', files: attackFiles('while :; do echo a line; done') })
  const worker = startWorker(app.services, jobHandlers(app.services))
  const job = async () =>
    (await admin.graphql('{ jobs(first: 1, kind: "analysis.pana") { nodes { state attempts phase } } }')).body.data.jobs.nodes[0]
  await expect.poll(job).toMatchObject({ state: 'RUNNING', phase: 'pana' })
  await worker.stop()
  expect(await job()).toMatchObject({ state: 'QUEUED', attempts: 0 })
})
