import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { begin, emptyQueue, failed, reportOf, storeReport, store, versionId } from '../support/reports.ts'

const query = `query ($name: String!) { package(name: $name) { latest { score {
  status error grantedPoints maxPoints passedChecks totalChecks percent engine engineVersion log report { sections { key status criteria { reason } } notMeasured { key } }
} } } }`

/** Returns the status from GraphQL, both REST endpoints and the badge, which must agree. Without points, `/score` answers 0, as on pub.dev. */
async function statusOf(app: TestApp, name = 'acme') {
  const bob = await app.viewer()
  const { score } = (await bob.graphql(query, { name })).body.data.package.latest
  const { body } = await bob.get(`/api/packages/${name}/score`)
  const report = (await bob.get(`/api/packages/${name}/versions/1.0.0/scoring-report`)).body
  const { grantedPoints, maxPoints, passedChecks, totalChecks, error } = score
  const status = score.status.toLowerCase()
  expect(body).toMatchObject({ status, grantedPoints: grantedPoints ?? 0, maxPoints: maxPoints ?? 0, passedChecks, totalChecks })
  expect(report).toMatchObject({ status, grantedPoints, maxPoints, passedChecks, totalChecks, error })
  const badge = (await bob.get(`/packages/${name}/badges/score.svg`)).raw.toString()
  return { status, error, points: grantedPoints, badge: /aria-label="score: ([^"]*)".*(#\w{6})"\/><\/g>/.exec(badge)?.slice(1) }
}

const gray = '#6a6a6a'

it('is pending, running, completed or failed with a reason, and keeps the last result', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  expect(await statusOf(app)).toEqual({ status: 'pending', error: null, points: null, badge: ['pending', gray] })
  await app.services.database.fork().execute("update jobs set state = 'running'")
  expect(await statusOf(app)).toEqual({ status: 'running', error: null, points: null, badge: ['running', gray] })
  await failed(app, 'acme', 'It took longer than 60 seconds.')
  const reason = 'It took longer than 60 seconds.'
  expect(await statusOf(app)).toEqual({ status: 'failed', error: reason, points: null, badge: ['failed', '#b3261e'] })
  for (const [points, color] of [
    [112, '#2c7a34'],
    [100, '#a35200'],
    [20, '#b3261e'],
  ] as const) {
    await storeReport(app, 'acme', reportOf(points, 140))
    expect(await statusOf(app)).toEqual({
      status: 'completed',
      error: null,
      points,
      badge: [`${Math.floor((10 * points) / 140)}/10 checks`, color],
    })
  }
  await admin.post('/api/admin/packages/acme/versions/1.0.0/rescore')
  expect(await statusOf(app)).toMatchObject({ status: 'pending', points: 20, badge: ['1/10 checks', '#b3261e'] })
  await failed(app, 'acme', 'It ran out of memory.')
  expect(await statusOf(app)).toMatchObject({ status: 'failed', error: 'It ran out of memory.', points: 20 })
  const kinds = (await admin.get('/api/admin/audit-log?package=acme')).body.entries.map(({ kind }: { kind: string }) => kind)
  const scoredTwice = ['package.scored', 'package.scored', 'package.scored']
  expect(kinds).toEqual(['package.score_failed', ...scoredTwice, 'package.score_failed', 'package.version_published', 'package.created'])
  const log = (await alice.get('/api/packages/acme/activity-log')).body.entries
  expect(log[1]).toMatchObject({ kind: 'package.scored', summary: 'acme 1.0.0 passed 1 of 10 checks', version: '1.0.0' })
})

it('is disabled while scoring is disabled by settings or environment, and keeps the last result', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await admin.put('/api/admin/sdk/settings', { scoringEnabled: false })
  expect(await statusOf(app)).toMatchObject({ status: 'disabled', badge: ['disabled', gray] })
  await publish(alice, { name: 'later', version: '1.0.0' })
  await admin.put('/api/admin/sdk/settings', { scoringEnabled: true })
  expect(await statusOf(app)).toMatchObject({ status: 'pending' })
  expect(await statusOf(app, 'later')).toMatchObject({ status: 'not_analyzed', badge: ['not analyzed', gray] })
  await storeReport(app, 'acme', reportOf(1, 2))
  app.config.SCORING_ENABLED = false
  expect(await statusOf(app)).toMatchObject({ status: 'completed', points: 1 })
  expect(await statusOf(app, 'later')).toMatchObject({ status: 'disabled' })
})

it('keeps the result of the later analysis, whichever ends first, and none of a deleted version', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await versionId(app, 'acme')
  const [slow, fast] = [await begin(app, id), await begin(app, id)]
  expect(await store(app, id, { generation: fast, report: reportOf(9, 10), surface: Buffer.from('new'), log: 'fine' })).toBe(true)
  expect(await store(app, id, { generation: slow, report: reportOf(1, 10), surface: Buffer.from('old') })).toBe(false)
  expect(await statusOf(app)).toMatchObject({ points: 9 })
  const [{ surface }] = await app.services.database.fork().execute<[{ surface: Buffer }]>('select surface from version_surfaces')
  expect(Buffer.from(surface).toString()).toBe('new')
  const score = async (actor: typeof alice) => (await actor.graphql(query, { name: 'acme' })).body.data.package.latest.score
  expect(await score(alice)).toMatchObject({
    percent: 90,
    passedChecks: 9,
    totalChecks: 10,
    engine: 'built-in',
    log: 'fine',
    report: { sections: [{ key: 'convention', status: 'PARTIAL' }] },
  })
  expect(await score(await app.member())).toMatchObject({ percent: 90, log: null })
  await admin.delete('/api/admin/packages/acme/versions/1.0.0')
  expect(await begin(app, id)).toBe(0)
  expect(await store(app, id, { generation: 9, report: reportOf(1, 1) })).toBe(false)
})

it('shows reports of public versions to everyone and of private ones to signed-in users only', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['open', 'closed']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'open')
  for (const name of ['open', 'closed']) await storeReport(app, name, reportOf(3, 4))
  const path = (name: string) => `/api/packages/${name}/versions/1.0.0/scoring-report`
  expect(await app.anonymous.get(path('open'))).toMatchObject({ status: 200, body: { status: 'completed', grantedPoints: 3 } })
  expect(await app.anonymous.get(path('closed'))).toMatchObject({ status: 401 })
  const { latest } = (await app.anonymous.graphql(query, { name: 'open' })).body.data.package
  expect(latest.score).toMatchObject({ status: 'COMPLETED', log: null, report: { notMeasured: [{ key: 'analysis' }] } })
})

it('enqueues the analysis in the publishing transaction and loads the scores of a list together', async () => {
  const statements = async (env: Record<string, string>) => {
    const app = await testApp({ env })
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    const publishing = await app.countQueries(() => publish(alice, { name: 'acme', version: '1.1.0' }))
    for (const version of ['1.2.0', '1.3.0', '1.4.0']) await publish(alice, { name: 'acme', version })
    const list = (first: number) => () =>
      alice.graphql(`{ package(name: "acme") { versions(first: ${first}) { nodes { score { status percent } } } } }`)
    const lists = [await app.countQueries(list(1)), await app.countQueries(list(5))]
    if (env.SCORING_ENABLED === 'true') await emptyQueue(app)
    await app[Symbol.asyncDispose]()
    return { publishing, lists }
  }
  const [without, withScoring] = [await statements({ SCORING_ENABLED: 'false' }), await statements({ SCORING_ENABLED: 'true' })]
  expect(withScoring.publishing - without.publishing).toBe(1)
  expect(withScoring.lists[1]).toBe(withScoring.lists[0])
})
