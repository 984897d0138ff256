import { expect, it, onTestFinished } from 'vitest'
import { completeIndex, reindexedTo } from '../../server/registry/search/rebuild.ts'
import { readSetting } from '../../server/platform/settings/service.ts'
import { testApp } from '../app.ts'
import { longestTurnMs } from '../support/cpu-time.ts'
import { createDatabase } from '../support/postgres.ts'
import { publish } from '../support/publish.ts'
import { addPackages } from '../support/unindexed-packages.ts'

// Measured tests run one file at a time in their own process, so garbage of other tests does not distort the measurement.
it.for(['sqlite', 'postgres'])('answers requests while the search index is rebuilt, on %s', async (backend) => {
  await using app = await testApp({ env: backend === 'postgres' ? await ownDatabase() : {} })
  const alice = await app.member()
  // Most of the work on PostgreSQL happens outside this process, so fewer packages suffice.
  const count = backend === 'sqlite' ? 2000 : 300
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await addPackages(app, count)
  const { database } = app.services
  const rebuilding = completeIndex(app.services)
  const watching = longestTurnMs(rebuilding)
  const state = { isDone: false }
  void rebuilding.finally(() => (state.isDone = true))
  const answered: number[] = []
  const asking = (async () => {
    while (!state.isDone) {
      answered.push((await alice.get('/api/packages/acme')).status, (await alice.put('/api/account/likes/acme')).status)
      // The recorded texts would grow to hundreds of megabytes, whose garbage collection would be measured.
      app.queries.length = app.lines.length = 0
    }
  })()
  await Promise.all([rebuilding, asking])
  expect(await watching).toBeLessThan(500)
  expect(answered.length).toBeGreaterThan(40)
  expect(new Set(answered)).toEqual(new Set([200]))
  const found = await alice.get('/api/search?q=pkg')
  expect(found.body.totalCount).toBe(count)
  expect(await readSetting(database.reads, reindexedTo)).toBeNull()
})

async function ownDatabase(): Promise<Record<string, string>> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}
