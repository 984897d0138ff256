import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { makeOwned } from '../support/ownership.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const path = '/api/packages/acme/options'
const plain = { isDiscontinued: false, replacedBy: null, isUnlisted: false }

async function withPackage() {
  const app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  return { app, alice }
}

const kinds = async (actor: Actor) =>
  (await actor.get('/api/packages/acme/activity-log')).body.entries.map(({ kind }: { kind: string }) => kind)

it('changes only the given options', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  expect(await alice.get(path)).toMatchObject({ status: 200, body: plain })
  expect((await alice.put(path, { isDiscontinued: true })).body).toEqual({ ...plain, isDiscontinued: true })
  expect((await alice.put(path, { replacedBy: 'better' })).body).toEqual({ ...plain, isDiscontinued: true, replacedBy: 'better' })
  expect((await alice.put(path, { isUnlisted: true })).body).toEqual({ isDiscontinued: true, replacedBy: 'better', isUnlisted: true })
  expect((await alice.put(path, {})).body).toEqual({ isDiscontinued: true, replacedBy: 'better', isUnlisted: true })
  expect((await alice.put(path, { replacedBy: null })).body).toMatchObject({ isDiscontinued: true, replacedBy: null })
  expect((await alice.put(path, { replacedBy: 'best' })).body).toMatchObject({ replacedBy: 'best' })
  // A package that is no longer discontinued needs no replacement.
  expect((await alice.put(path, { isDiscontinued: false })).body).toEqual({ ...plain, isUnlisted: true })
  expect((await alice.put(path, { isDiscontinued: true })).body).toMatchObject({ replacedBy: null })
  expect((await alice.get(path)).body).toEqual({ isDiscontinued: true, replacedBy: null, isUnlisted: true })
})

it('shows options to package clients only when they apply (pub, "Listing")', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  const read = async () => {
    const { headers, body } = await alice.get('/api/packages/acme')
    return { etag: headers.etag, options: Object.entries(body).filter(([name]) => /^(isDiscontinued|replacedBy|isUnlisted)$/.test(name)) }
  }
  const before = await read()
  expect(before.options).toEqual([])
  await alice.put(path, { isDiscontinued: true })
  expect((await read()).options).toEqual([['isDiscontinued', true]])
  await alice.put(path, { replacedBy: 'better' })
  expect((await read()).options).toEqual([
    ['isDiscontinued', true],
    ['replacedBy', 'better'],
  ])
  await alice.put(path, { isDiscontinued: false, isUnlisted: true })
  expect(await read()).toEqual(before)
})

it('accepts a replacement only for discontinued packages and valid other names', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  for (const body of [
    { replacedBy: 'better' },
    { isDiscontinued: false, replacedBy: 'better' },
    { isDiscontinued: true, replacedBy: 'acme' },
    { isDiscontinued: true, replacedBy: 'Better' },
    { isDiscontinued: true, replacedBy: '' },
    { isDiscontinued: true, replacedBy: '../better' },
    { isDiscontinued: true, replacedBy: 'class' },
    { isDiscontinued: true, replacedBy: 'x'.repeat(65) },
    { isDiscontinued: true, replacedBy: 7 },
  ])
    expect({ body, answer: await alice.put(path, body) }).toMatchObject({
      answer: { status: 400, body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^replacedBy/) } } },
    })
  expect((await alice.get(path)).body).toEqual(plain)
})

it('refuses invalid options and unknown packages', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  for (const [name, value] of [
    ['isDiscontinued', 'yes'],
    ['isUnlisted', 1],
    ['isUnlisted', {}],
  ] as const)
    expect(await alice.put(path, { [name]: value })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringContaining(name) } },
    })
  expect(await alice.put('/api/packages/nothing/options', { isUnlisted: true })).toMatchObject({ status: 404 })
  expect(await alice.get('/api/packages/nothing/options')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  for (const name of ['Nothing', '%00', 'a%2Fb', 'x'.repeat(65)])
    expect(await alice.put(`/api/packages/${name}/options`, { isUnlisted: true })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput' } },
    })
  // A package name in the body is ignored.
  expect((await alice.put(path, { package: 'nothing', pkg: 'nothing', isUnlisted: true })).body).toMatchObject({ isUnlisted: true })
})

it('requires a package admin', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  const { admin: boss, member: helper } = await makeOwned(app, 'acme')
  for (const actor of [alice, boss, await app.admin(), await app.owner()])
    expect(await actor.put(path, { isUnlisted: true })).toMatchObject({ status: 200 })
  for (const actor of [helper, await app.member(), await app.viewer(), await app.withScopes(alice, ['read'])]) {
    expect(await actor.put(path, { isUnlisted: false })).toMatchObject({
      status: 403,
      body: { error: { code: 'InsufficientPermissions' } },
    })
    expect((await actor.get(path)).body).toMatchObject({ isUnlisted: true })
  }
  expect(await app.anonymous.put(path, { isUnlisted: false })).toMatchObject({ status: 401 })
  expect(await app.anonymous.get(path)).toMatchObject({ status: 401 })
})

it('hides unlisted packages from lists and completion but not from users who know the name', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  await publish(alice, { name: 'beta', version: '1.0.0' })
  await alice.put(path, { isUnlisted: true })
  const list = (await alice.get('/api/packages')).body
  expect(list).toMatchObject({ totalCount: 1, packages: [{ name: 'beta' }] })
  expect((await alice.get('/api/package-name-completion-data')).body).toEqual({ packages: ['beta'] })
  expect((await alice.get('/api/package-names')).body).toEqual({ packages: ['acme', 'beta'] })
  expect(await alice.get('/api/packages/acme')).toMatchObject({ status: 200 })
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 200 })
  await alice.put(path, { isUnlisted: false })
  expect((await alice.get('/api/packages')).body).toMatchObject({ totalCount: 2 })
})

it('records changes, and nothing when nothing changed', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  await alice.put(path, { isDiscontinued: true, replacedBy: 'better', isUnlisted: true })
  await alice.put(path, { isDiscontinued: true })
  await alice.put(path, { isDiscontinued: true, replacedBy: 'acme' })
  expect(await kinds(alice)).toEqual(['package.options_updated', 'package.version_published', 'package.created'])
  const { entries } = (await alice.get('/api/packages/acme/activity-log')).body
  expect(entries[0].summary).toBe('Alice changed the options of acme: discontinued, replaced by better, unlisted')
})

it('is available in GraphQL, with the replacement package if it is on this server', async () => {
  const { app, alice } = await withPackage()
  await using _app = app
  const change = (replacedBy: string) =>
    alice.graphql(
      'mutation ($by: String) { updatePackageOptions(input: { package: "acme", isDiscontinued: true, replacedBy: $by }) { package { isDiscontinued replacedBy isUnlisted replacement { name } } } }',
      { by: replacedBy },
    )
  const options = { isDiscontinued: true, replacedBy: 'beta', isUnlisted: false, replacement: null }
  expect((await change('beta')).body.data.updatePackageOptions.package).toEqual(options)
  await publish(alice, { name: 'beta', version: '1.0.0' })
  expect((await change('beta')).body.data.updatePackageOptions.package).toEqual({ ...options, replacement: { name: 'beta' } })
  expect((await change('acme')).body.errors[0].extensions).toMatchObject({ code: 'InvalidInput', field: 'replacedBy' })
})

it('shows anonymous users a replacement only while it is public here', async () => {
  await using app = await publicApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await makePublic(app, 'acme')
  await alice.put(path, { isDiscontinued: true, replacedBy: 'beta' })
  const shown = async (actor: Actor) => {
    const { isDiscontinued, replacedBy } = (await actor.get('/api/packages/acme')).body
    const { data } = (await actor.graphql('{ package(name: "acme") { isDiscontinued replacedBy } }')).body
    expect({ isDiscontinued, replacedBy: replacedBy ?? null }).toEqual(data.package)
    return data.package.replacedBy
  }
  const toBoth = async () => ({ anonymous: await shown(app.anonymous), alice: await shown(alice) })
  expect(await toBoth()).toEqual({ anonymous: null, alice: 'beta' })
  await publish(alice, { name: 'beta', version: '1.0.0' })
  expect(await toBoth()).toEqual({ anonymous: null, alice: 'beta' })
  await alice.put('/api/packages/beta/visibility', { visibility: 'public', confirm: 'beta' })
  expect(await toBoth()).toEqual({ anonymous: 'beta', alice: 'beta' })
  await admin.delete('/api/admin/packages/beta')
  expect(await toBoth()).toEqual({ anonymous: null, alice: 'beta' })
})
