import { expect, it } from 'vitest'
import { SavedApp } from '../../server/registry/upgrades/apps/entity.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const here = 'http://localhost:8080'
const entry = (name: string, version: string) =>
  `  ${name}:\n    dependency: "direct main"\n    description:\n      name: ${name}\n      sha256: "00"\n      url: "${here}"\n    source: hosted\n    version: "${version}"\n`
const lock = `packages:\n${entry('acme', '1.0.0')}${entry('icons', '1.0.0')}sdks:\n  dart: ">=3.0.0 <4.0.0"\n`
const error = (status: number, code: string) => ({ status, body: { error: { code } } })
const hour = 3_600_000

it('saves a lock file by name, and shows which of its packages changed since', async () => {
  await using app = await testApp({ now: new Date('2026-05-06T07:08:09Z') })
  const [alice, owner] = [await app.member(), await app.owner()]
  const later = (hours: number) => (app.clock.now = new Date(Date.parse('2026-05-06T07:08:09Z') + hours * hour))
  for (const name of ['acme', 'icons']) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, { name: 'icons', version: '1.1.0' })
  later(1)
  const saved = await alice.put('/api/apps', { name: 'Shop', lock })
  expect(saved).toMatchObject({ status: 200, body: { name: 'Shop', savedBy: { displayName: alice.user.displayName }, publisher: null } })
  const path = `/api/apps/${saved.body.id}`
  const read = async () => (await alice.get(path)).body
  expect(await read()).toMatchObject({
    check: {
      packages: [
        { name: 'icons', state: 'behind' },
        { name: 'acme', state: 'current' },
      ],
      elsewhere: 0,
    },
    changed: [],
  })
  later(2)
  await publish(alice, { name: 'acme', version: '1.2.0' })
  expect((await read()).changed).toEqual([{ name: 'acme' }])
  const osv = {
    id: 'GHSA-1',
    modified: app.clock.now?.toISOString(),
    affected: [{ package: { ecosystem: 'Pub', name: 'icons' }, versions: ['1.0.0'] }],
  }
  await owner.graphql('mutation ($osv: String!) { importAdvisories(input: { osv: $osv }) { imported } }', { osv: JSON.stringify(osv) })
  expect((await read()).changed.map(({ name }: { name: string }) => name).toSorted()).toEqual(['acme', 'icons'])
  later(3)
  const again = await alice.put('/api/apps', { name: 'Shop', lock: lock.replaceAll('1.0.0', '1.1.0') })
  expect(again.body.id).toBe(saved.body.id)
  expect((await read()).changed).toEqual([])
  expect((await alice.get('/api/apps')).body.savedApps).toMatchObject([{ name: 'Shop' }])
  expect(await alice.delete(path)).toMatchObject({ status: 200 })
  expect(await alice.get(path)).toMatchObject(error(404, 'NotFound'))
})

it('shows apps only to their owner, or to members of the publisher and administrators', async () => {
  await using app = await testApp()
  const [alice, bob, eve, admin] = [await app.member(), await app.member(), await app.member(), await app.admin()]
  await admin.post('/api/publishers', { id: 'company', displayName: 'Company' })
  await admin.put(`/api/publishers/company/members/${bob.id}`, { role: 'member' })
  const own = await alice.put('/api/apps', { name: 'Shop', lock })
  for (const other of [bob, admin]) {
    expect(await other.get(`/api/apps/${own.body.id}`)).toMatchObject(error(404, 'NotFound'))
    expect(await other.delete(`/api/apps/${own.body.id}`)).toMatchObject(error(404, 'NotFound'))
  }
  const shared = await bob.put('/api/apps', { name: 'Shop', lock, publisher: 'company' })
  expect(shared).toMatchObject({ status: 200, body: { publisher: { publisherId: 'company' } } })
  expect((await admin.get('/api/apps?publisher=company')).body.savedApps).toMatchObject([{ id: shared.body.id }])
  expect((await bob.get('/api/apps')).body.savedApps).toEqual([])
  expect(await eve.get('/api/apps?publisher=company')).toMatchObject(error(403, 'InsufficientPermissions'))
  expect(await eve.put('/api/apps', { name: 'Mine', lock, publisher: 'company' })).toMatchObject(error(403, 'InsufficientPermissions'))
  expect(await eve.get(`/api/apps/${shared.body.id}`)).toMatchObject(error(404, 'NotFound'))
  expect(await eve.get('/api/apps?publisher=unknown')).toMatchObject(error(404, 'NotFound'))
  const { body: issued } = await (await bob.session()).post('/api/auth/keys', { name: 'Reader', scopes: ['read'] })
  const reader = app.withToken(issued.secret)
  expect(await reader.get(`/api/apps/${shared.body.id}`)).toMatchObject({ status: 200 })
  for (const refused of [await reader.put('/api/apps', { name: 'Other', lock }), await reader.delete(`/api/apps/${shared.body.id}`)])
    expect(refused).toMatchObject(error(403, 'InsufficientPermissions'))
  const left = () => app.services.database.fork().count(SavedApp)
  expect(await left()).toBe(2)
  expect(await admin.delete(`/api/admin/users/${alice.id}`)).toMatchObject({ status: 200 })
  expect(await left()).toBe(1)
  expect(await admin.delete('/api/publishers/company')).toMatchObject({ status: 200 })
  expect(await left()).toBe(0)
})

it('refuses what is not a lock file, and more than 50 apps, also of concurrent calls', async () => {
  await using app = await testApp()
  const alice = await app.member()
  expect(await alice.put('/api/apps', { name: 'Shop', lock: 'name: shop' })).toMatchObject(error(400, 'InvalidInput'))
  expect(await alice.put('/api/apps', { name: ' ', lock })).toMatchObject(error(400, 'InvalidInput'))
  expect(await alice.put('/api/apps', { name: 'Shop', lock: '#'.repeat(256 * 1024 + 1) })).toMatchObject(error(400, 'InvalidInput'))
  const em = app.services.database.fork()
  for (let index = 0; index < 49; index++)
    em.create(SavedApp, { user: alice.id, publisher: null, name: `App ${index}`, lock, savedAt: new Date(), savedBy: alice.id })
  await em.flush()
  const answers = await Promise.all(['One', 'Two', 'Three'].map((name) => alice.put('/api/apps', { name, lock })))
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
  expect(await alice.put('/api/apps', { name: 'App 7', lock })).toMatchObject({ status: 200 })
})
