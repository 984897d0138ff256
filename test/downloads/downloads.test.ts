import { expect, it } from 'vitest'
import { countDownloads30d, rollDownloads } from '../../server/registry/downloads/service.ts'
import { isRobot, saveDownloads } from '../../server/registry/downloads/tally.ts'
import { completeIndex } from '../../server/registry/search/rebuild.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { writeDownloads } from '../support/downloads.ts'
import { anotherInstance } from '../support/instances.ts'
import { publish } from '../support/publish.ts'

const day = 86_400_000

async function publishPackages(app: TestApp) {
  const alice = await app.member()
  for (const [name, version] of [
    ['often', '1.0.0'],
    ['often', '1.1.0'],
    ['seldom', '1.0.0'],
  ] as const)
    await publish(alice, { name, version })
  return alice
}

const fetchArchive = (actor: Actor, file: string, headers: Record<string, string> = {}) =>
  actor.get(`/api/archives/${file}.tar.gz`, { headers })

async function downloads(app: TestApp, actor: Actor, name: string) {
  await writeDownloads(app)
  return (await actor.get(`/api/packages/${name}/downloads`)).body as {
    downloads30d: number
    weeks: { start: string; downloads: number }[]
    versions: { version: string; downloads30d: number; weeks: number[] }[]
  }
}

it('counts complete downloads and first ranges once per request', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  const etag = String((await fetchArchive(alice, 'often-1.0.0')).headers.etag)
  await fetchArchive(alice, 'often-1.1.0', { range: 'bytes=0-99' })
  await fetchArchive(alice, 'often-1.1.0', { 'user-agent': 'Dart pub 3.9.0' })
  // None of these requests is a download.
  await fetchArchive(alice, 'often-1.0.0', { range: 'bytes=100-' })
  await fetchArchive(alice, 'often-1.0.0', { 'if-none-match': etag })
  await fetchArchive(alice, 'often-1.0.0', { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' })
  await fetchArchive(alice, 'often-1.0.0', { range: 'bytes=99999999-' })
  await fetchArchive(alice, 'often-9.9.9')
  await fetchArchive(app.anonymous, 'often-1.0.0')
  await alice.head('/api/archives/often-1.0.0.tar.gz')
  await alice.get('/api/packages/often')
  const counted = await downloads(app, alice, 'often')
  expect(counted).toMatchObject({
    package: 'often',
    downloads30d: 3,
    versions: [
      { version: '1.1.0', downloads30d: 2 },
      { version: '1.0.0', downloads30d: 1 },
    ],
  })
  expect(counted.weeks).toHaveLength(52)
  expect(counted.weeks.at(-1)?.downloads).toBe(3)
  expect(counted.weeks.slice(0, -1).every((week) => week.downloads === 0)).toBe(true)
  expect(counted.versions[0]?.weeks.at(-1)).toBe(2)
  expect(await downloads(app, alice, 'seldom')).toMatchObject({ downloads30d: 0, versions: [] })
})

it('writes counts in batches and at shutdown, not while archives are sent', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  const { statements } = await attributeStatements(async () => {
    for (let count = 0; count < 5; count++) await fetchArchive(alice, 'often-1.0.0')
  })
  expect(statements.length).toBeGreaterThan(0)
  expect(statements.filter((sql) => /insert|update/i.test(sql))).toEqual([])
  // SQLite has only one instance.
  if (app.services.database.backend === 'postgres') {
    await using other = await testApp({ sameDatabaseAs: app })
    await fetchArchive(alice.at(other), 'often-1.0.0')
    await other.stop()
    expect((await downloads(app, alice, 'often')).downloads30d).toBe(6)
  }
  await app.http.close()
  const row = await app.services.database.reads.get<{ total: number | string }>('select sum(downloads) as total from version_downloads')
  expect(Number(row?.total)).toBeGreaterThanOrEqual(5)
})

it('adds up downloads over days and sorts by the last 30 days', async () => {
  await using app = await testApp({ now: new Date('2026-03-01T23:59:59.000Z') })
  const alice = await publishPackages(app)
  await fetchArchive(alice, 'often-1.0.0')
  await fetchArchive(alice, 'seldom-1.0.0')
  await writeDownloads(app)
  app.clock.now = new Date('2026-03-02T00:00:01.000Z')
  await fetchArchive(alice, 'often-1.0.0')
  expect(await downloads(app, alice, 'often')).toMatchObject({ downloads30d: 2 })
  const sorted = async () =>
    ((await alice.get('/api/search?sort=downloads')).body.packages as { package: string }[]).map((found) => found.package)
  expect(await sorted()).toEqual(['often', 'seldom'])
  expect(await countDownloads30d(app.services.database.reads, app.clock.now)).toBe(3)
  app.clock.now = new Date(Date.UTC(2026, 2, 31, 12))
  await fetchArchive(alice, 'seldom-1.0.0')
  await fetchArchive(alice, 'seldom-1.0.0')
  await writeDownloads(app)
  await Promise.all([rollDownloads(app.services), rollDownloads(app.services)])
  expect(await downloads(app, alice, 'often')).toMatchObject({ downloads30d: 1, versions: [{ downloads30d: 1 }] })
  expect(await downloads(app, alice, 'seldom')).toMatchObject({ downloads30d: 2 })
  expect(await sorted()).toEqual(['seldom', 'often'])
  expect(await countDownloads30d(app.services.database.reads, app.clock.now)).toBe(3)
  app.clock.now = new Date(app.clock.now.getTime() + 40 * day)
  await rollDownloads(app.services)
  expect((await downloads(app, alice, 'seldom')).downloads30d).toBe(0)
  const { weeks } = await downloads(app, alice, 'often')
  expect(weeks.reduce((sum, week) => sum + week.downloads, 0)).toBe(2)
})

it("keeps a package's downloads when a version is deleted or the index is rebuilt", async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  await fetchArchive(alice, 'often-1.0.0')
  await alice.put('/api/account/likes/often')
  await fetchArchive(alice, 'often-1.1.0')
  await writeDownloads(app)
  const em = app.services.database.fork()
  await em.execute("delete from package_versions where version = '1.0.0' and package_id in (select id from packages where name = 'often')")
  await em.execute('delete from package_search_documents')
  await completeIndex(app.services)
  expect(await downloads(app, alice, 'often')).toMatchObject({ downloads30d: 2, versions: [{ version: '1.1.0', downloads30d: 1 }] })
  const [first] = (await alice.get('/api/search?sort=likes')).body.packages as { package: string }[]
  expect(first).toEqual({ package: 'often', score: 0 })
})

it('retries counts that could not be written', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  await fetchArchive(alice, 'often-1.0.0')
  const { database } = app.services
  await saveDownloads(app.services)
  await fetchArchive(alice, 'often-1.0.0')
  await database.fork().execute('alter table version_downloads rename to elsewhere')
  await expect(saveDownloads(app.services)).rejects.toThrow()
  await database.fork().execute('alter table elsewhere rename to version_downloads')
  expect((await downloads(app, alice, 'often')).downloads30d).toBe(2)
})

it('adds up concurrent counts of several instances, in any order', async () => {
  await using app = await testApp()
  await using other = await anotherInstance(app)
  const alice = await publishPackages(app)
  const there = alice.at(other ?? app)
  const rounds = 20
  for (let round = 0; round < rounds; round++) {
    for (const version of ['1.0.0', '1.1.0']) await fetchArchive(alice, `often-${version}`)
    for (const version of ['1.1.0', '1.0.0']) await fetchArchive(there, `often-${version}`)
    await Promise.all([...app.instances, other ?? app].map(({ services }) => saveDownloads(services)))
  }
  expect(await downloads(app, alice, 'often')).toMatchObject({ downloads30d: 4 * rounds })
})

it('adds up concurrent counts of several instances with different versions', async () => {
  await using app = await testApp()
  await using other = await anotherInstance(app)
  const alice = await publishPackages(app)
  const there = alice.at(other ?? app)
  const rounds = 20
  for (let round = 0; round < rounds; round++) {
    for (const version of ['1.0.0', '1.1.0']) await fetchArchive(alice, `often-${version}`)
    await fetchArchive(there, 'often-1.1.0')
    await Promise.all([...app.instances, other ?? app].map(({ services }) => saveDownloads(services)))
  }
  expect(await downloads(app, alice, 'often')).toMatchObject({ downloads30d: 3 * rounds })
})

it('distinguishes robots from other clients', () => {
  for (const agent of [
    'Googlebot/2.1',
    'bingbot',
    'Mozilla/5.0 (compatible; AhrefsBot/7.0)',
    'my-crawler',
    'pub-mirror 1.0',
    'Artifactory/7.1',
    'Nexus/3.70',
  ])
    expect({ agent, robot: isRobot(agent) }).toEqual({ agent, robot: true })
  for (const agent of [undefined, 'Dart pub 3.9.0', 'curl/8.5.0', 'Mozilla/5.0 (X11; Linux x86_64) Chrome/153', 'Renovate/41', 'cdxgen'])
    expect({ agent, robot: isRobot(agent) }).toEqual({ agent, robot: false })
})

it('hides downloads from anonymous users and answers 404 for unknown packages', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  expect(await app.anonymous.get('/api/packages/often/downloads')).toMatchObject({ status: 401 })
  expect(await alice.get('/api/packages/absent/downloads')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await alice.get('/api/packages/No-name/downloads')).toMatchObject({ status: 400 })
})
