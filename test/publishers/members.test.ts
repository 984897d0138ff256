import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'

const error = (code: string, message: unknown = expect.any(String)) => ({ body: { error: { code, message } } })

/** Creates a publisher with alice as its only admin and bob as a user without membership. */
async function createTeam() {
  const app = await testApp()
  const [root, alice, bob] = [await app.admin(), await app.member(), await app.member()]
  await root.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  await root.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  await root.delete(`/api/publishers/acme/members/${root.id}`)
  const set = (by: Actor, whom: Actor, role: string) => by.put(`/api/publishers/acme/members/${whom.id}`, { role })
  const remove = (by: Actor, whom: Actor) => by.delete(`/api/publishers/acme/members/${whom.id}`)
  const roles = async () => {
    const { body } = await root.get('/api/publishers/acme/members')
    return Object.fromEntries(body.members.map((member: { userId: string; role: string }) => [member.userId, member.role]))
  }
  return { app, root, alice, bob, set, remove, roles, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

it('adds a member, changes the role and removes the member', async () => {
  await using t = await createTeam()
  const { email, displayName } = t.bob.user
  expect(await t.set(t.alice, t.bob, 'member')).toMatchObject({
    status: 200,
    body: { userId: t.bob.id, email, displayName, role: 'member' },
  })
  expect(await t.set(t.alice, t.bob, 'admin')).toMatchObject({ status: 200, body: { role: 'admin' } })
  expect(await t.set(t.alice, t.bob, 'editor')).toMatchObject({ status: 200, body: { role: 'member' } })
  expect(await t.set(t.alice, t.bob, 'admin')).toMatchObject({ status: 200, body: { role: 'admin' } })
  expect(await t.set(t.bob, t.alice, 'member')).toMatchObject({ status: 200 })
  expect(await t.roles()).toEqual({ [t.alice.id]: 'member', [t.bob.id]: 'admin' })
  expect(await t.remove(t.bob, t.alice)).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await t.remove(t.bob, t.alice)).toMatchObject({ status: 404 })
})

it('requires an admin of the publisher or a server administrator, and allows members to leave', async () => {
  await using t = await createTeam()
  await t.set(t.alice, t.bob, 'member')
  const stranger = await t.app.member()
  for (const actor of [t.bob, stranger, await t.app.viewer(), await t.app.withScopes(t.alice, ['read'])]) {
    expect(await t.set(actor, stranger, 'admin')).toMatchObject({ status: 403, ...error('InsufficientPermissions') })
    expect(await t.set(actor, actor, 'admin')).toMatchObject({ status: 403 })
    expect(await t.remove(actor, t.alice)).toMatchObject({ status: 403 })
  }
  expect(await t.remove(stranger, stranger)).toMatchObject({ status: 403 })
  expect(await t.app.anonymous.delete(`/api/publishers/acme/members/${t.bob.id}`)).toMatchObject({ status: 401 })
  expect(await t.remove(t.bob, t.bob)).toMatchObject({ status: 200 })
  expect(await t.roles()).toEqual({ [t.alice.id]: 'admin' })
  expect(await t.set(t.root, stranger, 'member')).toMatchObject({ status: 200 })
})

it('keeps the last admin, also against server administrators', async () => {
  await using t = await createTeam()
  await t.set(t.alice, t.bob, 'member')
  const kept = { status: 400, ...error('InvalidInput', expect.stringContaining('last admin')) }
  for (const actor of [t.alice, t.root]) {
    expect(await t.set(actor, t.alice, 'member')).toMatchObject(kept)
    expect(await t.remove(actor, t.alice)).toMatchObject(kept)
  }
  expect(await t.set(t.alice, t.alice, 'admin')).toMatchObject({ status: 200 })
  expect(await t.roles()).toEqual({ [t.alice.id]: 'admin', [t.bob.id]: 'member' })
})

it('does not count disabled admins as remaining admins', async () => {
  await using t = await createTeam()
  await t.set(t.alice, t.bob, 'admin')
  await t.root.put(`/api/admin/users/${t.bob.id}`, { isActive: false })
  const kept = { status: 400, ...error('InvalidInput', expect.stringContaining('last active admin')) }
  expect(await t.remove(t.alice, t.alice)).toMatchObject(kept)
  expect(await t.set(t.alice, t.alice, 'member')).toMatchObject(kept)
  expect(await t.remove(t.alice, t.bob)).toMatchObject({ status: 200 })
})

it('does not count invited admins who have not accepted as remaining admins', async () => {
  await using t = await createTeam()
  const invited = { email: 'ivy@example.com', displayName: 'Ivy', mode: 'invite', role: 'member' }
  const { body } = await t.root.post('/api/admin/users', invited)
  const token = body.inviteUrl.split('/invite/')[1] as string
  const ivy = (role: string) => t.alice.put(`/api/publishers/acme/members/${body.userId}`, { role })
  expect(await ivy('admin')).toMatchObject({ status: 200 })
  const kept = { status: 400, ...error('InvalidInput', expect.stringContaining('last active admin')) }
  for (const actor of [t.alice, t.root]) {
    expect(await t.remove(actor, t.alice)).toMatchObject(kept)
    expect(await t.set(actor, t.alice, 'member')).toMatchObject(kept)
  }
  expect(await ivy('member')).toMatchObject({ status: 200 })
  expect(await ivy('admin')).toMatchObject({ status: 200 })
  expect(await t.app.anonymous.post(`/api/invites/${token}/accept`, { password: 'a fine password' })).toMatchObject({ status: 200 })
  expect(await t.remove(t.alice, t.alice)).toMatchObject({ status: 200 })
})

it('keeps memberships of a disabled user without their permissions', async () => {
  await using t = await createTeam()
  await t.set(t.alice, t.bob, 'admin')
  await t.root.put(`/api/admin/users/${t.bob.id}`, { isActive: false })
  expect(await t.bob.put('/api/publishers/acme', { description: 'x' })).toMatchObject({ status: 401 })
  expect(await t.roles()).toMatchObject({ [t.bob.id]: 'admin' })
  await t.root.put(`/api/admin/users/${t.bob.id}`, { isActive: true })
  expect(await t.bob.put('/api/publishers/acme', { description: 'x' })).toMatchObject({ status: 200 })
})

it('revokes publisher rights with the next request when a member is removed', async () => {
  await using t = await createTeam()
  await t.set(t.alice, t.bob, 'admin')
  await t.remove(t.alice, t.bob)
  expect(await t.bob.put('/api/publishers/acme', { description: 'x' })).toMatchObject({ status: 403 })
  expect((await t.bob.get('/api/publishers/acme')).body).not.toHaveProperty('members')
})

it('refuses unknown users and invalid roles', async () => {
  await using t = await createTeam()
  const put = (id: string, body: unknown) => t.alice.put(`/api/publishers/acme/members/${id}`, body)
  expect(await put('00000000-0000-7000-8000-000000000000', { role: 'member' })).toMatchObject({ status: 404 })
  for (const id of ['unknown', '1', '%00']) expect((await put(id, { role: 'member' })).status, id).toBe(404)
  for (const body of [
    {},
    { role: 'owner' },
    { role: 'OWNER' },
    { role: null },
    { role: ['admin'] },
    { role: 'member', email: t.bob.email },
  ])
    expect(await put(t.bob.id, body)).toMatchObject({ status: 400, ...error('InvalidInput') })
  expect(await put(t.bob.id, { role: 'Admin' })).toMatchObject({ status: 200, body: { role: 'admin' } })
})

it('adds members by exact e-mail address, without listing users', async () => {
  await using t = await createTeam()
  const id = Buffer.from('Publisher:acme').toString('base64')
  const add = (email: string) =>
    t.alice.graphql(
      'mutation ($id: ID!, $email: String!) { setPublisherMember(input: { id: $id, email: $email, role: MEMBER }) { member { role user { email } } publisher { memberCount } } }',
      { id, email },
    )
  expect((await add(t.bob.email.toUpperCase())).body.data.setPublisherMember).toEqual({
    member: { role: 'MEMBER', user: { email: t.bob.email } },
    publisher: { memberCount: 2 },
  })
  for (const email of ['member-', 'stranger@example.com']) {
    const [failure] = (await add(email)).body.errors
    expect(failure.extensions.code).toBe(email.includes('@') ? 'NotFound' : 'InvalidInput')
  }
  const withoutUser = await t.alice.graphql(
    'mutation ($id: ID!) { setPublisherMember(input: { id: $id, role: MEMBER }) { member { role } } }',
    {
      id,
    },
  )
  expect(withoutUser.body.errors[0].extensions).toMatchObject({ code: 'InvalidInput', field: 'userId' })
})
