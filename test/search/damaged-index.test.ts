import BetterSqlite from 'better-sqlite3'
import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const renameTable = (app: TestApp) =>
  app.services.database.orm.em.getConnection().execute('alter table package_search_documents rename to package_search_lost')

function corruptFullText(app: TestApp) {
  const file = new BetterSqlite(app.config.SQLITE_PATH).unsafeMode() // The server's own connection protects these tables.
  for (const index of ['full', 'brief']) file.exec(`update package_search_${index}_data set block = x'ffffffffffffffffffffffffffffffff'`)
  file.close()
}

const damages: [string, (app: TestApp) => unknown][] = [['a table of the search index is missing', renameTable]]
if (process.env.TEST_DB === 'sqlite') damages.push(['the full-text index of SQLite is corrupt', corruptFullText])

it.each(damages)('answers 503 while %s', async (_what, damage) => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await damage(app)
  const message = expect.stringContaining('search index is damaged')
  const unavailable = { status: 503, body: { error: { code: 'ServiceUnavailable', message } } }
  expect(await alice.get('/api/search?q=acme')).toMatchObject(unavailable)
  const { body } = await alice.graphql('{ searchPackages(first: 5, query: "acme") { totalCount nodes { name } } }')
  expect(body.errors).toMatchObject([{ message, extensions: { code: 'ServiceUnavailable' } }])
  expect(await app.anonymous.get('/api/v1/health')).toMatchObject({
    status: 503,
    body: { status: 'degraded', checks: { search_index: { status: 'error' }, metadata_store: { status: 'ok' } } },
  })
  expect((await alice.get('/api/packages/acme')).status).toBe(200)
})
