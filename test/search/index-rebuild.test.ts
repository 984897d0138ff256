import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { newId } from '../../server/db/base.ts'
import { Package, PackageVersion } from '../../server/packages/entity.ts'
import { versionKey } from '../../server/pub/sort-key.ts'
import { checkSearch } from '../../server/search/health.ts'
import { completeIndex, renewedTo, storedForm } from '../../server/search/rebuild.ts'
import { readSetting, readSettingIn, writeSetting } from '../../server/settings/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { admin, adminJson } from '../support/admin.ts'
import { publish } from '../support/publish.ts'
import { find, stocked } from '../support/search.ts'

it('leaves the others their turn while it is made anew, and loses nobody meanwhile', async () => {
  await using app = await testApp()
  const alice = await app.member()
  // PostgreSQL works beside this process, which is what could be held up.
  const count = app.config.DB_BACKEND === 'sqlite' ? 2000 : 300
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await addPackages(app, count)
  const { database } = app.services
  const rebuilding = completeIndex(app.services)
  const watching = longestTurn(rebuilding)
  const answered: number[] = []
  const asking = (async () => {
    for (let isOver = false; !isOver; isOver = await isSettled(rebuilding)) {
      answered.push((await alice.get('/api/packages/acme')).status, (await alice.put('/api/account/likes/acme')).status)
    }
  })()
  await Promise.all([rebuilding, asking])
  expect(await watching).toBeLessThan(150)
  expect(answered.length).toBeGreaterThan(40)
  expect(new Set(answered)).toEqual(new Set([200]))
  const found = await alice.get('/api/search?q=pkg')
  expect(found.body.totalCount).toBe(count)
  expect(await readSetting(database.reads, renewedTo)).toBeNull()
}, 180_000)

it('goes on where a restart has interrupted it, and keeps what was found before', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await addPackages(app, 20)
  await completeIndex(app.services)
  const { database } = app.services
  const [half] = await database.fork().execute<{ id: string }[]>('select id from packages order by id limit 1 offset 9')
  await database.fork().execute('update package_search_documents set updated_at = 0')
  await database.fork().transactional(async (em) => {
    await writeSetting(em, storedForm, 4)
    await writeSetting(em, renewedTo, half?.id ?? null)
  })
  await completeIndex(app.services)
  const rows = await database
    .fork()
    .execute<{ updated_at: number | string }[]>('select updated_at from package_search_documents order by package_id')
  expect(rows.map(({ updated_at: at }) => Number(at) > 0)).toEqual(Array.from({ length: 20 }, (_, index) => index > 9))
  expect((await alice.get('/api/search?q=pkg')).body.totalCount).toBe(20)
})

it('is made anew by the operator beside a running server, and goes on where that was interrupted', async () => {
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
  await writeSetting(database.fork(), renewedTo, half?.id ?? null)
  expect(await admin(app, 'reindex')).toEqual({ code: 0, out: 'Indexed 12 packages anew.', err: '' })
  const rows = await database
    .fork()
    .execute<{ updated_at: number | string }[]>('select updated_at from package_search_documents order by package_id')
  expect(rows.map(({ updated_at: at }) => Number(at) > 0)).toEqual(Array.from({ length: 22 }, (_, index) => index > 9))
  expect(await readSettingIn(database.fork(), renewedTo)).toBeNull()
  expect((await adminJson(app, 'reindex')).body.indexed).toBe(22)
})

/** Packages with a version each, as if they had always been there, and unknown to the index. */
async function addPackages({ services }: TestApp, count: number): Promise<void> {
  const em = services.database.fork()
  const createdAt = new Date()
  const packages = Array.from({ length: count }, (_, index) => ({ id: newId(), name: `pkg_${index}` }))
  const fields = { latestVersion: '1.0.0', latestPrerelease: null, revision: 1, createdAt, updatedAt: createdAt }
  await em.insertMany(
    Package,
    packages.map((one) => ({ ...one, description: `The package ${one.name}`, ...fields })),
  )
  await em.insertMany(
    PackageVersion,
    packages.map(({ id, name }) => ({
      id: newId(),
      package: id,
      version: '1.0.0',
      sortKey: versionKey('1.0.0'),
      isPrerelease: false,
      archiveSha256: '0'.repeat(64),
      archiveBytes: 1,
      archiveCrc32c: 'AAAAAA==',
      pubspec: JSON.stringify({ name, version: '1.0.0', topics: ['testing'], environment: { sdk: '^3.0.0' } }),
      createdAt,
    })),
  )
}

/** The longest that this process computed without taking its turns, in milliseconds of its own time: others on the machine do not count. */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  let longest = 0
  while (!(await isSettled(work))) {
    const before = process.threadCpuUsage()
    await nextTurn()
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
  }
  return longest
}

const isSettled = (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    nextTurn(false),
  ])

it('fills an index that is empty, and says so meanwhile', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  const { database } = app.services
  await database.fork().execute('delete from package_search_documents')
  await database.fork().execute('update package_versions set license = null')
  expect(await find(alice, '')).toEqual([])
  const filling = completeIndex(app.services)
  expect(await checkSearch(database)).toBe('initializing')
  await filling
  expect(await checkSearch(database)).toBe('ok')
  expect(await find(alice, 'license:mit')).toEqual(['plain'])
  expect(await find(alice, '')).toEqual(['camera', 'fancy', 'plain'])
})

it('indexes everything anew when terms are made otherwise than before', async () => {
  await using app = await testApp()
  const alice = await stocked(app)
  const { database } = app.services
  await completeIndex(app.services)
  await database.fork().execute("update package_search_documents set name = 'other_' || name")
  await completeIndex(app.services)
  expect(await find(alice, 'is:plugin')).toEqual(['camera'])
  expect((await alice.graphql('{ completePackageNames(prefix: "c", first: 9) }')).body.data.completePackageNames).toEqual([])
  await database.fork().transactional((em) => writeSetting(em, storedForm, 0))
  await completeIndex(app.services)
  expect((await alice.graphql('{ completePackageNames(prefix: "c", first: 9) }')).body.data.completePackageNames).toEqual(['camera'])
})
