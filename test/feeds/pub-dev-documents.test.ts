import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { documentVersion } from '../support/docs.ts'
import { runJobs } from '../support/jobs.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

/** The requests of pub_api_client, with its header. */
const get = async (actor: Actor, path: string) => {
  const answer = await actor.get(path, { headers: { accept: 'application/vnd.pub.v2+json' } })
  expect({ path, status: answer.status }).toEqual({ path, status: 200 })
  return answer.body
}

const documents = (name: string) => [
  `/packages/${name}.json`,
  `/api/packages/${name}/metrics`,
  `/api/documentation/${name}`,
  `/api/packages/${name}/feed.atom`,
  `/documentation/${name}/latest/index.json`,
  `/api/account/likes/${name}`,
]

async function publishMany(actor: Actor, count: number): Promise<void> {
  for (let number = 10; number < 10 + count; number++) await publish(actor, { name: `pkg_${number}`, version: '1.0.0' })
}

it('lists the versions of a package, highest first, and all packages by URL', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://pub.example.com' } })
  const alice = await app.member()
  for (const version of ['1.0.0', '2.0.0-dev.1', '1.10.0', '1.9.0+2']) await publish(alice, { name: 'acme', version })
  await publish(alice, { name: 'path_x', version: '0.1.0' })
  expect((await alice.put('/api/packages/acme/versions/1.10.0/options', { isRetracted: true })).status).toBe(200)
  expect(await get(alice, '/packages/acme.json')).toEqual({ name: 'acme', versions: ['2.0.0-dev.1', '1.10.0', '1.9.0+2', '1.0.0'] })
  expect(await get(alice, '/packages.json')).toMatchObject({
    packages: ['https://pub.example.com/packages/acme.json', 'https://pub.example.com/packages/path_x.json'],
    next: null,
  })
  for (const path of ['/packages/absent.json', '/api/packages/absent/metrics', '/api/documentation/absent', '/api/account/likes/absent'])
    expect(await alice.get(path)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await alice.get('/api/packages/acme/metrics?version=9.9.9')).toMatchObject({ status: 404 })
  expect(await alice.get('/api/packages/acme/metrics?version=nine')).toMatchObject({ status: 400 })
})

it('links the next page of packages and of search results, and not after the last page', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://pub.example.com' } })
  const alice = await app.member()
  await publishMany(alice, 51)
  const first = await get(alice, '/api/packages')
  expect(first).toMatchObject({ next_url: 'https://pub.example.com/api/packages?page=2', totalPages: 2 })
  expect(first.packages[0].latest).toMatchObject({
    version: '1.0.0',
    pubspec: { name: 'pkg_10', version: '1.0.0' },
    archive_url: 'https://pub.example.com/api/archives/pkg_10-1.0.0.tar.gz',
  })
  const last = await get(alice, '/api/packages?page=2')
  expect(last).toMatchObject({ next_url: null, packages: [{ name: 'pkg_60' }] })
  expect(await get(alice, '/api/packages?page=3')).toMatchObject({ next_url: null, packages: [] })
  expect(await get(alice, '/packages.json')).toMatchObject({ next: 'https://pub.example.com/packages.json?page=2' })
  const found = await get(alice, '/api/search?q=made+%26+pkg&page=1&sort=top')
  expect(found.packages).toHaveLength(50)
  expect(found.next).toBe('https://pub.example.com/api/search?q=made+%26+pkg&page=2&sort=top')
  const rest = await get(alice, '/api/search?q=made+%26+pkg&page=2&sort=top')
  expect(rest.packages).toHaveLength(1)
  expect(rest).not.toHaveProperty('next')
  expect(await app.countQueries(() => alice.get('/api/packages'))).toBeLessThan(20)
})

it('sorts search results by the words of pub.dev', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const name of ['acme', 'beta']) await publish(alice, { name, version: '1.0.0' })
  await alice.put('/api/account/likes/beta')
  const names = async (sort: string) =>
    (await get(alice, `/api/search?sort=${sort}`)).packages.map((one: { package: string }) => one.package)
  for (const sort of ['like', 'likes']) expect({ sort, names: await names(sort) }).toEqual({ sort, names: ['beta', 'acme'] })
  for (const sort of ['top', 'text', 'points', 'popularity', 'trending', 'downloads', 'created', 'updated'])
    expect({ sort, count: (await names(sort)).length }).toEqual({ sort, count: 2 })
  for (const sort of ['toString', '__proto__', 'best'])
    expect(await alice.get(`/api/search?sort=${sort}`)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
})

it('answers metrics with all fields that clients require, before and after an analysis', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: 'homepage: https://acme.example\n' })
  await publish(alice, { name: 'acme', version: '1.2.0' })
  await alice.get('/api/archives/acme-1.2.0.tar.gz')
  await writeDownloads(app)
  const { score, scorecard } = await get(alice, '/api/packages/acme/metrics')
  expect(score).toMatchObject({ grantedPoints: 0, maxPoints: 0, likeCount: 0, downloadCount30Days: 1, tags: expect.any(Array) })
  expect(scorecard).toMatchObject({
    packageName: 'acme',
    packageVersion: '1.2.0',
    runtimeVersion: expect.any(String),
    updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    dartdocReport: { reportStatus: 'failed' },
    panaReport: { reportStatus: 'aborted', derivedTags: [] },
    taskStatus: 'pending',
  })
  expect(scorecard.weeklyVersionDownloads.totalWeeklyDownloads.slice(0, 2)).toEqual([1, 0])
  expect(scorecard.weeklyVersionDownloads).toMatchObject({
    majorRangeWeeklyDownloads: [{ versionRange: '>=1.0.0-0 <2.0.0', counts: expect.arrayContaining([1]) }],
    minorRangeWeeklyDownloads: [{ versionRange: '>=1.2.0-0 <1.3.0' }],
    patchRangeWeeklyDownloads: [{ versionRange: '>=1.2.0-0 <1.2.1' }],
  })
  await runJobs(app, { analyses: true })
  const analyzed = await get(alice, '/api/packages/acme/metrics?version=1.0.0')
  expect(analyzed.scorecard).toMatchObject({
    packageVersion: '1.0.0',
    taskStatus: 'completed',
    dartdocReport: { reportStatus: 'success' },
    panaReport: {
      reportStatus: 'success',
      timestamp: expect.any(String),
      result: { homepageUrl: 'https://acme.example', grantedPoints: analyzed.score.grantedPoints },
    },
  })
  const [section] = analyzed.scorecard.panaReport.report.sections
  expect(section).toEqual({
    id: 'convention',
    title: expect.any(String),
    grantedPoints: expect.any(Number),
    maxPoints: expect.any(Number),
    status: expect.stringMatching(/^(passed|partial|failed)$/),
    summary: expect.stringMatching(/^### \[[*x~]\] \d+\/\d+ points: /),
  })
})

it('answers which versions have documentation, and the index of its elements', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  await documentVersion(app, 'acme', '1.0.0')
  expect(await get(alice, '/api/documentation/acme')).toEqual({
    name: 'acme',
    versions: [
      { version: '1.1.0', status: 'pending', hasDocumentation: false },
      { version: '1.0.0', status: 'completed', hasDocumentation: true },
    ],
  })
  expect(await alice.get('/documentation/acme/latest/index.json')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  const answer = await alice.get('/documentation/acme/1.0.0/index.json')
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
  const elements = answer.body as { name: string; href: string; kind: number; qualifiedName: string; enclosedBy?: { name: string } }[]
  expect(elements.filter((one) => !one.enclosedBy).map(({ name, href, kind }) => ({ name, href, kind }))).toEqual([
    { name: 'extras', href: 'extras/index.html', kind: 9 },
    { name: 'shapes', href: 'shapes/index.html', kind: 9 },
  ])
  expect(elements.find(({ name }) => name === 'Circle')).toMatchObject({
    kind: 3,
    href: 'shapes/Circle.html',
    enclosedBy: { name: 'shapes' },
  })
  expect(elements.find(({ name }) => name === 'area')).toMatchObject({
    kind: 16,
    qualifiedName: 'shapes.Shape.area',
    enclosedBy: { name: 'Shape', kind: 3, href: 'shapes/Shape.html' },
  })
  for (const { href } of elements) expect((await alice.get(`/documentation/acme/1.0.0/${href}`)).status).toBe(301)
})

it('answers whether the caller likes a package', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  expect(await get(alice, '/api/account/likes/acme')).toEqual({ package: 'acme', liked: false })
  await alice.put('/api/account/likes/acme')
  expect(await get(alice, '/api/account/likes/acme')).toEqual({ package: 'acme', liked: true })
})

it('shows anonymous callers public packages only, and private ones like missing ones', async () => {
  await using app: TestApp = await publicApp()
  const alice = await app.member()
  for (const name of ['acme', 'hidden']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'acme')
  await documentVersion(app, 'acme', '1.0.0')
  await documentVersion(app, 'hidden', '1.0.0')
  const seen = async (path: string) => {
    const { status, body } = await app.anonymous.get(path)
    return { status, body: JSON.stringify(body).replaceAll('absent', 'hidden') }
  }
  for (const [index, path] of documents('hidden').entries()) {
    expect({ path, status: (await app.anonymous.get(path)).status }).toEqual({ path, status: 401 })
    expect({ path, ...(await seen(path)) }).toEqual({ path, ...(await seen(documents('absent')[index] ?? '')) })
  }
  for (const path of documents('acme').slice(0, 5)) expect((await app.anonymous.get(path)).status).toBe(200)
  for (const path of documents('acme').slice(0, 5)) expect((await app.withToken('svc_pat_wrong').get(path)).status).toBe(401)
  expect((await app.anonymous.get('/api/packages/acme/metrics')).body).toMatchObject({
    score: { downloadCount30Days: 0 },
    scorecard: { weeklyVersionDownloads: null },
  })
  for (const path of ['/api/packages', '/packages.json', '/api/search'])
    expect(JSON.stringify((await app.anonymous.get(path)).body)).toMatch(/^(?!.*hidden).*acme/)
})
