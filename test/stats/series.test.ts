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

it('refuses more weeks and days than the limits', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (const field of ['weeks(first: 105) { start }', 'diskSamples(first: 731) { day }', 'weeks(first: 0) { start }']) {
    const { body } = await admin.graphql(`{ serverStatistics { ${field} } }`)
    expect(body.errors[0].extensions.code).toBe('InvalidInput')
  }
})
