import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { addEntries } from '../support/audit.ts'
import { makeOwned } from '../support/ownership.ts'
import { publish } from '../support/publish.ts'

const path = '/api/packages/acme/activity-log'

it('lists the activity of a package, newest first', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'other', version: '1.0.0' })
  const { status, body } = await alice.get(path)
  const agent = { userId: alice.id, displayName: 'Alice', email: alice.email }
  const common = { id: expect.stringMatching(/^[0-9a-f-]{36}$/), createdAt: expect.stringMatching(/\.\d{3}Z$/), agent }
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      entries: [
        { ...common, kind: 'package.version_published', summary: 'Alice published acme 1.0.0', version: '1.0.0' },
        { ...common, kind: 'package.created', summary: 'Alice created the package acme', version: null },
      ],
      nextBefore: null,
    },
  })
})

it('pages by fifty to the end', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  for (let index = 0; index < 50; index++) await alice.put('/api/packages/acme/options', { isUnlisted: index % 2 === 0 })
  const first = (await alice.get(path)).body
  expect(first.entries).toHaveLength(50)
  expect(first.nextBefore).toBe(first.entries[49].id)
  const second = (await alice.get(`${path}?before=${first.nextBefore}`)).body
  expect(second.entries.map(({ kind }: { kind: string }) => kind)).toEqual(['package.version_published', 'package.created'])
  expect(second.nextBefore).toBeNull()
  for (const before of ['x', '1', '%00', '00000000-0000-0000-0000-00000000000z'])
    expect(await alice.get(`${path}?before=${before}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^before: /) } },
    })
})

it('requires a package admin', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const { admin: boss, member: helper } = await makeOwned(app, 'acme')
  for (const actor of [alice, boss, await app.admin(), await app.owner(), await app.withScopes(alice, ['read'])])
    expect(await actor.get(path)).toMatchObject({ status: 200 })
  for (const actor of [helper, await app.member(), await app.viewer()]) {
    expect(await actor.get(path)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
    const { body } = await actor.graphql('{ package(name: "acme") { name activity(first: 5) { nodes { summary } } } }')
    expect(body).toMatchObject({
      data: { package: { name: 'acme', activity: null } },
      errors: [{ extensions: { code: 'InsufficientPermissions' } }],
    })
  }
  expect(await app.anonymous.get(path)).toMatchObject({ status: 401 })
  expect(await alice.get('/api/packages/nothing/activity-log')).toMatchObject({ status: 404 })
  expect(await alice.get('/api/packages/No/activity-log')).toMatchObject({ status: 400 })
})

it('shows client addresses to server administrators only', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const query = '{ package(name: "acme") { activity(first: 1) { totalCount nodes { clientIp actor { email } } } } }'
  const ask = async (actor: Actor) => (await actor.graphql(query)).body.data.package.activity
  expect(await ask(alice)).toEqual({ totalCount: 2, nodes: [{ clientIp: null, actor: { email: alice.email } }] })
  expect(await ask(await app.admin())).toEqual({ totalCount: 2, nodes: [{ clientIp: alice.ip, actor: { email: alice.email } }] })
})

it('keeps the entries of a deleted user', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await alice.put(`/api/packages/acme/uploaders/${bob.email}`)
  await publish(bob, { name: 'acme', version: '1.1.0' })
  await admin.delete(`/api/admin/users/${bob.id}`)
  const { body } = await alice.get(path)
  expect(body.entries[0]).toMatchObject({
    kind: 'package.version_published',
    version: '1.1.0',
    agent: { userId: bob.id, displayName: 'deleted user', email: null },
  })
})

it('returns what the caller may do with a package', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const { admin: boss, member: helper } = await makeOwned(app, 'acme')
  const permissions = '/api/packages/acme/permissions'
  for (const actor of [alice, boss, await app.admin(), await app.owner()])
    expect((await actor.get(permissions)).body).toEqual({ canPublish: true, canAdminister: true })
  expect((await helper.get(permissions)).body).toEqual({ canPublish: true, canAdminister: false })
  for (const actor of [await app.member(), await app.viewer(), await app.withScopes(alice, ['read'])])
    expect((await actor.get(permissions)).body).toEqual({ canPublish: false, canAdminister: false })
  expect(await alice.get('/api/packages/nothing/permissions')).toMatchObject({ status: 404 })
  expect(await app.anonymous.get(permissions)).toMatchObject({ status: 401 })
})

it('leaves out what the server did itself', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await addEntries(app, 1, () => ({ kind: 'package.scored', package: 'acme', summary: 'Scored acme 1.0.0', actorId: null }))
  const kinds = async (peopleOnly: boolean) => {
    const { body } = await alice.graphql(
      'query ($peopleOnly: Boolean) { package(name: "acme") { activity(first: 9, peopleOnly: $peopleOnly) { nodes { kind } } } }',
      { peopleOnly },
    )
    return body.data.package.activity.nodes.map(({ kind }: { kind: string }) => kind)
  }
  expect(await kinds(true)).toEqual(['package.version_published', 'package.created'])
  expect((await kinds(false)).toSorted()).toEqual(['package.created', 'package.scored', 'package.version_published'])
})
