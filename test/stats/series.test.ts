import { expect, it } from 'vitest'
import { sampleDay } from '../../server/operations/stats/samples.ts'
import { testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { anotherInstance } from '../support/instances.ts'
import { publish } from '../support/publish.ts'

const dayMs = 86_400_000

it('counts publications and downloads per week, and the people and tokens that were active', async () => {
  const start = new Date('2026-03-02T12:00:00Z')
  await using app = await testApp({ now: start, alone: true })
  const [admin, alice] = [await app.admin(), await app.member()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await sampleDay(app.services)
  app.clock.now = new Date(start.getTime() + 7 * dayMs)
  for (const version of ['1.1.0', '1.2.0']) await publish(alice, { name: 'acme', version })
  await alice.get('/api/archives/acme-1.0.0.tar.gz')
  await writeDownloads(app)
  await app.services.database.fork().getConnection().execute('delete from sessions')
  const { body } = await admin.graphql(
    '{ serverStatistics { weeks(first: 3) { start publications downloads activePeople activeTokens } freeBytes } }',
  )
  const { weeks, freeBytes } = body.data.serverStatistics
  expect(weeks.map(({ publications, downloads }: Record<string, number>) => [publications, downloads])).toEqual([
    [0, 0],
    [1, 0],
    [2, 1],
  ])
  expect(weeks.map(({ start: day }: { start: string }) => day)).toEqual(
    [20, 13, 6].map((back) => new Date(Date.parse('2026-03-09') - back * dayMs).toISOString()),
  )
  expect(weeks[1].activePeople).toBeGreaterThan(0)
  expect(weeks[1].activeTokens).toBeGreaterThan(0)
  expect(weeks[2]).toMatchObject({ activePeople: null, activeTokens: null })
  expect(Number(freeBytes)).toBeGreaterThan(0)
})

it('stores one sample a day, whichever instance comes first, and deletes samples after two years', async () => {
  const start = new Date('2026-03-02T12:00:00Z')
  await using app = await testApp({ now: start })
  await using other = await anotherInstance(app)
  const samples = async () => {
    const { body } = await (await app.admin()).graphql('{ serverStatistics { diskSamples(first: 730) { day archives database } } }')
    return body.data.serverStatistics.diskSamples.map(({ day, archives, database }: Record<string, string>) => ({
      day: day?.slice(0, 10),
      isMeasured: Number(archives) >= 0 && Number(database) > 0,
    }))
  }
  const turn = () => Promise.all([app, app, ...(other ? [other] : [])].map(({ services }) => sampleDay(services)))
  await turn()
  expect(await samples()).toEqual([{ day: '2026-03-02', isMeasured: true }])
  app.clock.now = new Date(start.getTime() + dayMs)
  await turn()
  expect(await samples()).toMatchObject([{ day: '2026-03-02' }, { day: '2026-03-03' }])
  app.clock.now = new Date(start.getTime() + 730 * dayMs)
  await turn()
  expect(await samples()).toMatchObject([{ day: '2026-03-03' }, { day: '2028-03-01' }])
  const kept = await app.services.database.fork().execute<{ total: number | string }[]>('select count(*) as total from daily_samples')
  expect(Number(kept[0]?.total)).toBe(2)
})

it('measures again for a sample if the last measurement is older than an hour', async () => {
  const start = new Date('2026-03-02T20:00:00Z')
  await using app = await testApp({ now: start, alone: true })
  const [admin, alice] = [await app.admin(), await app.member()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const bytes = async () => {
    const { body } = await admin.graphql('{ serverStatistics { disk { archives { bytes } } diskSamples(first: 2) { archives } } }')
    const { disk, diskSamples } = body.data.serverStatistics
    return { now: disk.archives.bytes, samples: diskSamples.map(({ archives }: { archives: string }) => archives) }
  }
  const before = await bytes()
  // The measurement took long, so its result is cached until the next day.
  const memory = app.services.state.measurement
  if (memory) memory.validUntil = start.getTime() + dayMs
  await publish(alice, { name: 'acme', version: '1.1.0' })
  app.clock.now = new Date(start.getTime() + 5 * 3_600_000)
  expect((await bytes()).now).toBe(before.now)
  await sampleDay(app.services)
  const after = await bytes()
  expect(Number(after.now)).toBeGreaterThan(Number(before.now))
  expect(after.samples).toEqual([after.now])
})

it('waits for a successful measurement for an hour, and then stores a sample without sizes', async () => {
  const start = new Date('2026-03-02T12:00:00Z')
  await using app = await testApp({ now: start, alone: true })
  const days = async () => (await app.services.database.reads.all('select * from daily_samples')).length
  const failed = { archiveBytes: null, docsBytes: null, relations: null, measuredAt: null }
  const fail = () =>
    (app.services.state.measurement = {
      last: failed,
      validUntil: 0,
      running: { result: Promise.resolve(failed), began: performance.now() },
    })
  for (const [at, stored] of [
    ['2026-03-02T12:59:00Z', 0],
    ['2026-03-03T00:30:00Z', 0],
    ['2026-03-03T01:00:00Z', 1],
  ] as const) {
    app.clock.now = new Date(at)
    fail()
    await sampleDay(app.services)
    expect([at, await days()]).toEqual([at, stored])
  }
})

it('refuses more weeks and days than the limits', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (const field of ['weeks(first: 105) { start }', 'diskSamples(first: 731) { day }', 'weeks(first: 0) { start }']) {
    const { body } = await admin.graphql(`{ serverStatistics { ${field} } }`)
    expect(body.errors[0].extensions.code).toBe('InvalidInput')
  }
})
