import { expect, it } from 'vitest'
import { forgetServerAddress, listServerAddresses, rememberServerAddress } from '../../server/operations/admin/content.ts'
import { completeIndex } from '../../server/registry/search/rebuild.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { dependent, publicApp } from '../support/public-packages.ts'
import { publish, publishArchive } from '../support/publish.ts'
import { packageArchive } from '../support/archive.ts'

const [before, now] = ['http://localhost:8080', 'https://pub.example.com']
const packageDependingOn = (name: string, dependency: string, url: string, more = '') =>
  ({ name, version: '1.0.0', pubspec: `${more}dependencies:\n  ${dependency}:\n    hosted: ${url}\n    version: any\n` }) as const
const becomePublic = (actor: Actor, name: string, closure: string[] = []) =>
  actor.put(`/api/packages/${name}/visibility`, { visibility: 'public', confirm: name, closure })

/** Restarts a server with packages under another address. */
async function restartAtNewAddress(first: TestApp): Promise<TestApp> {
  await first.stop()
  return testApp({ sameDatabaseAs: first, config: { SERVER_URL: now } })
}

it('keeps packages that were published under a former address working under the new one', async () => {
  await using first = await publicApp()
  const [alice, admin] = [await first.member(), await first.admin()]
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await publish(alice, dependent('shop', '1.0.0', ['icons']))
  expect(await becomePublic(alice, 'shop', ['icons'])).toMatchObject({ status: 200 })
  await using app = await restartAtNewAddress(first)
  const [ann, root] = [alice.at(app), admin.at(app)]
  const listing = await app.anonymous.get('/api/packages/shop')
  expect(listing.body.latest.archive_url).toBe(`${now}/api/archives/shop-1.0.0.tar.gz`)
  expect(await dependents(ann, 'icons')).toEqual(['shop'])
  const { body } = await app.anonymous.graphql(
    '{ package(name: "shop") { version(version: "1.0.0") { dependencies { name isHostedHere package { name } } } } }',
  )
  expect(body.data.package.version.dependencies).toEqual([{ name: 'icons', isHostedHere: true, package: { name: 'icons' } }])
  const chain = { status: 409, body: { error: { message: expect.stringContaining('shop -> icons') } } }
  expect(await root.delete('/api/admin/packages/icons')).toMatchObject(chain)
  const toPrivate = { visibility: 'private', confirm: 'icons' }
  expect(await ann.put('/api/packages/icons/visibility', toPrivate)).toMatchObject(chain)
  expect(await ann.put('/api/packages/icons/visibility', { ...toPrivate, acceptBreakage: true })).toMatchObject({ status: 200 })
  expect(await app.anonymous.get('/api/packages/shop')).toMatchObject({ status: 401 })
  expect((await app.anonymous.get('/api/search?q=shop')).body.totalCount).toBe(0)
})

it('accepts packages that name either address and treats them alike', async () => {
  await using first = await publicApp()
  const alice = await first.member()
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await using app = await restartAtNewAddress(first)
  const ann = alice.at(app)
  await publish(ann, packageDependingOn('older', 'icons', before, `publish_to: ${before}/\n`))
  await publish(ann, packageDependingOn('newer', 'icons', now, `publish_to: ${now}\n`))
  expect(await publishArchive(ann, await packageArchive(packageDependingOn('other', 'icons', 'https://other.example')))).toMatchObject({
    status: 400,
  })
  expect(await dependents(ann, 'icons')).toEqual(['newer', 'older'])
  for (const name of ['older', 'newer']) expect(await becomePublic(ann, name)).toMatchObject({ status: 409 })
  expect(await becomePublic(ann, 'older', ['icons'])).toMatchObject({ status: 200 })
  expect(await becomePublic(ann, 'newer')).toMatchObject({ status: 200 })
})

it('treats an address as its own as soon as it is configured, also in search', async () => {
  await using first = await publicApp({ env: { ALLOWED_HOSTED_URLS: now } })
  const alice = await first.member()
  await publish(alice, packageDependingOn('early', 'missing', now))
  expect(await becomePublic(alice, 'early')).toMatchObject({ status: 200 })
  expect((await first.anonymous.get('/api/search?q=early')).body.totalCount).toBe(1)
  await using app = await restartAtNewAddress(first)
  await completeIndex(app.services)
  expect(await app.anonymous.get('/api/packages/early')).toMatchObject({ status: 401 })
  expect((await app.anonymous.get('/api/search?q=early')).body.totalCount).toBe(0)
})

it('lists the server addresses, which operators add and remove', async () => {
  await using first = await testApp()
  const [alice, admin] = [await first.member(), await first.admin()]
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await publish(alice, dependent('shop', '1.0.0', ['icons']))
  await using app = await restartAtNewAddress(first)
  const query = '{ serverAddresses { address isCurrent } }'
  const addresses = async () => (await admin.at(app).graphql(query)).body.data.serverAddresses as { address: string; isCurrent: boolean }[]
  expect((await addresses()).toSorted((a, b) => (a.address < b.address ? -1 : 1))).toEqual([
    { address: before, isCurrent: false },
    { address: now, isCurrent: true },
  ])
  expect((await alice.at(app).graphql(query)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  const operation = () => ({ em: app.services.database.fork(), config: app.config })
  await forgetServerAddress(operation(), `${before}/`)
  expect(await addresses()).toEqual([{ address: now, isCurrent: true }])
  expect(await dependents(alice.at(app), 'icons')).toEqual([])
  await expect(forgetServerAddress(operation(), before)).rejects.toThrow('is not among the addresses')
  await expect(forgetServerAddress(operation(), now)).rejects.toThrow('SERVER_URL')
  await rememberServerAddress(operation(), before)
  expect(await dependents(alice.at(app), 'icons')).toEqual(['shop'])
  await expect(rememberServerAddress(operation(), before)).rejects.toThrow('is already known')
  await expect(rememberServerAddress(operation(), 'ftp://x')).rejects.toThrow('not a valid server address')
  expect((await listServerAddresses(operation())).text.split('\n')).toHaveLength(2)
})

async function dependents(actor: Actor, name: string): Promise<string[]> {
  const { body } = await actor.graphql(
    'query ($name: String!) { package(name: $name) { dependents(first: 9) { nodes { package { name } } } } }',
    {
      name,
    },
  )
  return body.data.package.dependents.nodes.map((node: { package: { name: string } }) => node.package.name)
}
