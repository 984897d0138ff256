import { expect, it } from 'vitest'
import { User } from '../../server/accounts/users/entity.ts'
import { Package } from '../../server/registry/packages/entity.ts'
import { PackageWatch } from '../../server/registry/watching/entity.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { duringTransaction } from '../support/concurrent-transaction.ts'
import { publish } from '../support/publish.ts'

const watch = (actor: Actor, name: string) =>
  actor.graphql('mutation ($name: String!) { watchPackage(input: { package: $name }) { package { name viewerIsWatching } } }', { name })
const unwatch = (actor: Actor, name: string) =>
  actor.graphql('mutation ($name: String!) { unwatchPackage(input: { package: $name }) { package { name viewerIsWatching } } }', { name })
const watched = async (actor: Actor) => {
  const { body } = await actor.graphql('{ watchedPackages(first: 10) { totalCount nodes { package { name } } } }')
  return body.data.watchedPackages.nodes.map((node: { package: { name: string } }) => node.package.name) as string[]
}
const versions = async (actor: Actor) => {
  const { body } = await actor.graphql('{ watchedVersions(first: 10) { nodes { version package { name } } } }')
  const nodes = body.data.watchedVersions.nodes as { version: string; package: { name: string } }[]
  return nodes.map((node) => `${node.package.name} ${node.version}`)
}

async function publishPackages(app: TestApp) {
  const alice = await app.member()
  for (const name of ['apple', 'banana', 'cherry']) await publish(alice, { name, version: '1.0.0' })
  return alice
}

it('lists new versions of watched packages, newest first, in GraphQL and as a feed', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  const vera = await app.viewer()
  for (const name of ['banana', 'apple', 'apple'])
    expect((await watch(vera, name)).body.data.watchPackage.package).toEqual({ name, viewerIsWatching: true })
  await publish(alice, { name: 'apple', version: '1.1.0' })
  await publish(alice, { name: 'cherry', version: '1.1.0' })
  expect(await watched(vera)).toEqual(['apple', 'banana'])
  expect(await versions(vera)).toEqual(['apple 1.1.0', 'banana 1.0.0', 'apple 1.0.0'])
  const feed = await vera.get('/me/feed.atom')
  expect(feed).toMatchObject({ status: 200, headers: { 'cache-control': 'private, no-cache', vary: 'authorization, cookie' } })
  expect([...feed.body.matchAll(/<entry>[^]*?<title>(.*?)<\/title>/g)].map(([, title]) => title)).toEqual([
    'apple 1.1.0',
    'banana 1.0.0',
    'apple 1.0.0',
  ])
  // Others are not affected.
  expect(await versions(alice)).toEqual([])
  expect((await alice.graphql('{ package(name: "apple") { viewerIsWatching } }')).body.data.package).toEqual({ viewerIsWatching: false })
  for (let count = 0; count < 2; count++)
    expect((await unwatch(vera, 'apple')).body.data.unwatchPackage.package).toEqual({ name: 'apple', viewerIsWatching: false })
  expect(await versions(vera)).toEqual(['banana 1.0.0'])
})

it('omits retracted versions', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  await watch(alice, 'apple')
  await alice.put('/api/packages/apple/versions/1.0.0/options', { isRetracted: true })
  expect(await versions(alice)).toEqual([])
})

it('refuses anonymous callers, unknown packages, and more than 500 packages', async () => {
  await using app = await testApp()
  const alice = await publishPackages(app)
  expect((await watch(app.anonymous, 'apple')).body.errors[0].extensions.code).toBe('MissingAuthentication')
  expect((await app.anonymous.get('/me/feed.atom')).status).toBe(401)
  expect((await watch(alice, 'nothing')).body.errors[0].extensions.code).toBe('NotFound')
  const em = app.services.database.fork()
  const { id = '' } = (await app.services.database.reads.get<{ id: string }>("select id from packages where name = 'apple'")) ?? {}
  const template = await em.findOneOrFail(Package, id)
  for (let index = 0; index < 500; index++) {
    const { name: _name, id: _id, ...rest } = template
    const filler = em.create(Package, { ...rest, name: `filler_${index}` })
    em.create(PackageWatch, { user: em.getReference(User, alice.id), package: filler, createdAt: new Date() })
  }
  await em.flush()
  const refused = await watch(alice, 'apple')
  expect(refused.body.errors[0]).toMatchObject({
    message: 'You can watch at most 500 packages. Stop watching others first.',
    extensions: { code: 'Conflict' },
  })
})

it('answers NotFound for a package being deleted, and is deleted along with packages and accounts', async () => {
  await using app = await testApp()
  const [alice, bob] = [await publishPackages(app), await app.member()]
  await watch(alice, 'apple')
  await watch(bob, 'banana')
  const deletion = { lock: "select id from packages where name = 'apple'", changes: ["delete from packages where name = 'apple'"] }
  const refused = await duringTransaction(app, deletion, () => watch(bob, 'apple'))
  expect(refused.body.errors[0].extensions.code).toBe('NotFound')
  expect(await watched(alice)).toEqual([])
  expect((await (await app.admin()).delete(`/api/admin/users/${bob.id}`)).status).toBe(200)
  expect(await app.services.database.reads.get('select 1 from package_watches')).toBeUndefined()
})
