import { expect, it } from 'vitest'
import { checkSearch } from '../../server/registry/search/service.ts'
import { completeIndex, reindexedTo, storedFormat } from '../../server/registry/search/rebuild.ts'
import { readSettingIn, writeSetting } from '../../server/platform/settings/service.ts'
import { testApp } from '../app.ts'
import { admin, adminJson } from '../support/admin.ts'
import { publish } from '../support/publish.ts'
import { find, publishSearchFixtures } from '../support/search.ts'
import { addPackages } from '../support/unindexed-packages.ts'

it('resumes a rebuild after a restart and keeps existing entries searchable', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await addPackages(app, 20)
  await completeIndex(app.services)
  const { database } = app.services
  const [half] = await database.fork().execute<{ id: string }[]>('select id from packages order by id limit 1 offset 9')
  await database.fork().execute('update package_search_documents set updated_at = 0')
  await database.fork().transactional(async (em) => {
    await writeSetting(em, storedFormat, 7)
    await writeSetting(em, reindexedTo, half?.id ?? null)
  })
  await completeIndex(app.services)
  const rows = await database
    .fork()
    .execute<{ updated_at: number | string }[]>('select updated_at from package_search_documents order by package_id')
  expect(rows.map(({ updated_at: at }) => Number(at) > 0)).toEqual(Array.from({ length: 20 }, (_, index) => index > 9))
  expect((await alice.get('/api/search?q=pkg')).body.totalCount).toBe(20)
})

it('is rebuilt by the operator while the server runs, and resumes after an interruption', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await addPackages(app, 20)
  const [{ code, body }] = await Promise.all([
    adminJson(app, 'reindex'),
    ...['acme', 'base'].map(async (name) => publish(alice, { name, version: '1.0.0' })),
  ])
  expect([code, body.ok, body.indexed >= 20]).toEqual([0, true, true])
  expect((await alice.get('/api/search?q=pkg')).body.totalCount).toBe(20)
  expect((await alice.get('/api/search?q=')).body.totalCount).toBe(22)
  const { database } = app.services
  const [half] = await database.fork().execute<{ id: string }[]>('select id from packages order by id limit 1 offset 9')
  await database.fork().execute('update package_search_documents set updated_at = 0')
  await writeSetting(database.fork(), reindexedTo, half?.id ?? null)
  expect(await admin(app, 'reindex')).toEqual({ code: 0, out: 'Reindexed 12 packages.', err: '' })
  const rows = await database
    .fork()
    .execute<{ updated_at: number | string }[]>('select updated_at from package_search_documents order by package_id')
  expect(rows.map(({ updated_at: at }) => Number(at) > 0)).toEqual(Array.from({ length: 22 }, (_, index) => index > 9))
  expect(await readSettingIn(database.fork(), reindexedTo)).toBeNull()
  expect((await adminJson(app, 'reindex')).body.indexed).toBe(22)
})

it('fills an empty index and reports that in the meantime', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
  const { database } = app.services
  await database.fork().execute('delete from package_search_documents')
  await database.fork().execute('update package_versions set license = null')
  expect(await find(alice, '')).toEqual([])
  const filling = completeIndex(app.services)
  expect(await checkSearch(app.services)).toBe('initializing')
  await filling
  expect(await checkSearch(app.services)).toBe('ok')
  expect(await find(alice, 'license:mit')).toEqual(['plain'])
  expect(await find(alice, '')).toEqual(['camera', 'fancy', 'plain'])
})

it('rebuilds the index when the generation of terms changes', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
  const { database } = app.services
  await completeIndex(app.services)
  await database.fork().execute("update package_search_documents set name = 'other_' || name")
  await completeIndex(app.services)
  expect(await find(alice, 'is:plugin')).toEqual(['camera'])
  expect((await alice.graphql('{ completePackageNames(prefix: "c", first: 9) }')).body.data.completePackageNames).toEqual([])
  await database.fork().transactional((em) => writeSetting(em, storedFormat, 0))
  await completeIndex(app.services)
  expect((await alice.graphql('{ completePackageNames(prefix: "c", first: 9) }')).body.data.completePackageNames).toEqual(['camera'])
})
