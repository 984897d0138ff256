import { rm } from 'node:fs/promises'
import { afterAll, expect, it } from 'vitest'
import { AnalysisFailed, type AnalysisTask, openAnalyzer } from '../../server/analysis/report/analyze.ts'
import { jobHandlers } from '../../server/job-handlers.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp, type TestOptions } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { reportOf } from '../support/reports.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

const analyses = { analyses: true }
const query = `{ package(name: "acme") { latest { licenseId tags
  score { status error grantedPoints report { sections { key } notMeasured { key } } } apiDocumentation { state error }
} } }`
const latest = async (actor: Actor) => (await actor.graphql(query)).body.data.package.latest
const statusOf = async (actor: Actor) => (await latest(actor)).score.status as string

const mit =
  'MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software ("Software"), to deal in it.\n\nThe above copyright notice and this permission notice shall be included in all copies.'

/** All tests share one process, because starting it takes longer than the analyses. */
const shared = openAnalyzer()
afterAll(() => shared.close())
async function scoringApp(options?: TestOptions): Promise<TestApp> {
  const app = await testApp(options)
  app.services.analyzer = { ...shared, close: async () => {} }
  return app
}

/** Runs `answer` before each analysis. */
function beforeAnalysis({ services }: TestApp, answer: (task: AnalysisTask) => Promise<void>): void {
  const { analyzer } = services
  services.analyzer = { ...analyzer, analyze: async (task) => (await answer(task), analyzer.analyze(task)) }
}

it('analyzes a published version: report, tags, search, audit entry and log', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const files = { LICENSE: mit, 'lib/acme.dart': '/// Adds.\nint add(int a, int b) => a + b;\n', 'README.md': '# acme\n\nAdds.' }
  await publish(alice, { name: 'acme', version: '1.0.0', files })
  await runJobs(app, analyses)
  const { score, licenseId, tags, apiDocumentation } = await latest(alice)
  expect(score).toMatchObject({ status: 'COMPLETED', error: null, grantedPoints: expect.any(Number) })
  expect(score.grantedPoints).toBeGreaterThan(20)
  expect(score.report.sections.map(({ key }: { key: string }) => key)).toContain('convention')
  expect({ licenseId, tags }).toMatchObject({ licenseId: 'MIT', tags: expect.arrayContaining(['license:mit', 'is:private']) })
  expect(apiDocumentation).toEqual({ state: 'COMPLETED', error: null })
  expect((await alice.get('/api/search?q=score:>=1')).body.totalCount).toBe(1)
  const kinds = (await admin.get('/api/admin/audit-log?package=acme')).body.entries.map(({ kind }: { kind: string }) => kind)
  expect(kinds.slice(0, 2)).toEqual(['package.scored', 'package.docs_generated'])
  expect((await admin.get('/api/admin/sdk/settings')).body).toMatchObject({
    coverage: { versions: 1, scored: 1 },
    workers: { active: 0, queued: 0 },
  })
})

it('fails permanently for package errors, retries other errors and reports the reason', async () => {
  await using app = await scoringApp({ alone: true })
  const [alice, admin] = [await app.member(), await app.admin()]
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  let tries = 0
  beforeAnalysis(app, async () => {
    tries++
    throw new AnalysisFailed('The analysis took longer than 60 seconds.')
  })
  await runJobs(app, analyses)
  expect(tries).toBe(1)
  const reason = 'The analysis took longer than 60 seconds.'
  expect(await latest(alice)).toMatchObject({
    score: { status: 'FAILED', error: reason },
    apiDocumentation: { state: 'FAILED', error: reason },
  })
  expect((await admin.get('/api/admin/sdk/scoring-logs')).body.entries[0]).toMatchObject({
    level: 'error',
    package: 'acme',
    message: reason,
  })
  expect((await admin.get('/api/admin/audit-log?kind=package.score_failed')).body.entries).toHaveLength(1)

  await rm(pathOf(app, shaOf(archive)))
  await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')
  for (const state of ['PENDING', 'PENDING', 'FAILED']) {
    await runJobs(app, analyses)
    expect(await statusOf(alice)).toBe(state)
    app.clock.now = new Date(Date.now() + 3_600_000 * (state === 'FAILED' ? 0 : 2 + tries++))
  }
  expect((await latest(alice)).score.error).toContain('ENOENT')
})

it('runs again after the server was stopped or killed', async () => {
  await using app = await scoringApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const begun = Promise.withResolvers<void>()
  const { analyzer } = app.services
  app.services.analyzer = { ...analyzer, analyze: () => (begun.resolve(), new Promise(() => {})) }
  const stopping = startWorker(app.services, jobHandlers(app.services))
  await begun.promise
  expect(await statusOf(alice)).toBe('RUNNING')
  await stopping.stop()
  expect(await statusOf(alice)).toBe('PENDING')
  // The lease of a killed process expires.
  const lost = startWorker(app.services, jobHandlers(app.services), { leaseMs: 60_000 })
  await expect.poll(() => statusOf(alice)).toBe('RUNNING')
  app.clock.now = new Date(Date.now() + 120_000)
  app.services.analyzer = analyzer
  await runJobs(app, analyses)
  expect(await statusOf(alice)).toBe('COMPLETED')
  await lost.stop()
  expect(await statusOf(alice)).toBe('COMPLETED')
})

it('discards the result of a deleted version and repeats an analysis that was requested again', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  const seen: string[] = []
  beforeAnalysis(app, async ({ facts }) => {
    seen.push(facts.version)
    if (facts.version === '1.1.0') await admin.delete('/api/admin/packages/acme/versions/1.1.0')
    else if (seen.filter((version) => version === '1.0.0').length < 2) await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')
  })
  await runJobs(app, analyses)
  expect(seen.toSorted()).toEqual(['1.0.0', '1.0.0', '1.1.0'])
  expect(await statusOf(alice)).toBe('COMPLETED')
  const { jobs } = (await admin.graphql('{ jobs(first: 9, kind: "analysis") { nodes { state } } }')).body.data
  expect(jobs.nodes.map(({ state }: { state: string }) => state)).toEqual(['DONE', 'DONE', 'DONE'])
  expect((await admin.get('/api/admin/audit-log?kind=package.scored')).body.entries).toHaveLength(2)
})

it('passes registry data to the engine, but no data of private packages for a public one', async () => {
  await using app = await scoringApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  const icons = 'icons:\n    hosted: http://localhost:8080\n    version: ^1.0.0'
  for (const [name, version] of [
    ['icons', '1.0.0'],
    ['icons', '2.0.0'],
    ['unrelated', '1.0.0'],
  ] as const)
    await publish(alice, { name, version })
  await admin.put('/api/packages/icons/versions/2.0.0/options', { isRetracted: true })
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: `dependencies:\n  ${icons}\n  http: ^1.0.0\n` })
  const tasks: AnalysisTask[] = []
  beforeAnalysis(app, async (task) => void tasks.push(task))
  await runJobs(app, analyses)
  const facts = tasks.find((task) => task.facts.name === 'acme')?.facts
  expect(facts).toMatchObject({
    version: '1.0.0',
    isPrivate: true,
    dependencies: { icons: { versions: [{ version: '1.0.0' }], isDiscontinued: false, replacedBy: null } },
    dart: null,
  })
  expect(Object.keys(facts?.dependencies ?? {})).toEqual(['icons'])
  tasks.length = 0
  // Only an earlier version with the same dependencies is passed, because readers of 1.2.0 may be unable to read 1.0.0.
  await publish(alice, { name: 'acme', version: '1.1.0', pubspec: `dependencies:\n  ${icons}\n` })
  await runJobs(app, analyses)
  await publish(alice, { name: 'acme', version: '1.2.0' })
  await runJobs(app, analyses)
  expect(tasks.map(({ facts: { version }, earlier }) => [version, earlier?.version])).toEqual([
    ['1.1.0', '1.0.0'],
    ['1.2.0', undefined],
  ])
})

it('analyzes a package again when it becomes public, with public data only', async () => {
  await using app = await scoringApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  await admin.put('/api/admin/public-packages', { enabled: true })
  const needing = (name: string) => `dependencies:\n  ${name}:\n    hosted: http://localhost:8080\n    version: ^1.0.0\n`
  for (const name of ['icons', 'glyphs', 'secrets']) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: needing('icons') })
  await alice.put('/api/packages/icons/options', { isDiscontinued: true, replacedBy: 'glyphs' })
  const tasks: AnalysisTask[] = []
  beforeAnalysis(app, async (task) => void tasks.push(task))
  const known = async () => {
    tasks.length = 0
    await runJobs(app, analyses)
    return tasks.find((task) => task.facts.name === 'acme')?.facts.dependencies.icons
  }
  expect(await known()).toMatchObject({ versions: [{ version: '1.0.0' }], replacedBy: 'glyphs' })
  const change = { visibility: 'public', confirm: 'acme', closure: ['icons'] }
  expect((await alice.put('/api/packages/acme/visibility', change)).status).toBe(200)
  await publish(alice, { name: 'icons', version: '1.1.0', pubspec: needing('secrets') })
  const { publishedAt } = (await known())?.versions[0] ?? {}
  expect(await known()).toBeUndefined()
  await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')
  expect(await known()).toEqual({ versions: [{ version: '1.0.0', publishedAt }], isDiscontinued: true, replacedBy: null })
})

it('limits the size of a report', async () => {
  await using app = await scoringApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const { analyzer } = app.services
  const report = reportOf(1, 2, { notes: ['x'.repeat(600_000)] })
  app.services.analyzer = {
    ...analyzer,
    analyze: async () => ({
      report,
      surface: new Uint8Array(),
      apiVerdict: null,
      docs: null,
      docsFailure: null,
      usage: { cpuMs: 1, peakBytes: 1, ms: 1 },
    }),
  }
  await runJobs(app, analyses)
  expect((await latest(alice)).score).toMatchObject({ status: 'FAILED', error: expect.stringContaining('at most 524288') })
})
