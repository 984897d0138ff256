import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { adminJson } from '../support/admin.ts'
import { teamWithRobots } from '../support/service-accounts.ts'
import { publish } from '../support/publish.ts'

type Team = Awaited<ReturnType<typeof teamWithRobots>>

/** All requests that manage a service account, with the status for those who may not. */
const managing = (id: string, tokenId: string) =>
  [
    ['GET', `/api/service-accounts/${id}`, undefined, 404],
    ['GET', `/api/service-accounts/${id}/tokens`, undefined, 404],
    ['PUT', `/api/service-accounts/${id}`, { name: 'Taken over', isActive: false, publisherRole: 'admin' }, 403],
    ['POST', `/api/service-accounts/${id}/tokens`, { name: 'stolen' }, 403],
    ['DELETE', `/api/service-accounts/${id}/tokens/${tokenId}`, undefined, 403],
    ['DELETE', `/api/service-accounts/${id}`, undefined, 403],
  ] as const

async function expectRefused(actor: Actor, { account, tokenId }: Team['ofAcme']) {
  for (const [method, path, body, status] of managing(account.id, tokenId)) {
    const answer = await actor.send(method, path, body)
    expect([method, path, answer.status]).toEqual([method, path, status])
  }
}

/** An admin of another publisher. */
async function rival(t: Team): Promise<Actor> {
  const actor = await t.app.member()
  await t.root.post('/api/publishers', { id: 'rival', displayName: 'Rival' })
  await t.root.put(`/api/publishers/rival/members/${actor.id}`, { role: 'admin' })
  return actor
}

it('restricts the service accounts of a publisher to its admins and administrators', async () => {
  await using t = await teamWithRobots()
  const others = [t.bob, t.eve, await t.app.viewer(), await rival(t), t.ofAcme.robot, t.ofServer.robot]
  await t.alice.put(`/api/service-accounts/${t.ofAcme.account.id}`, { publisherRole: 'admin' })
  for (const actor of others) {
    await expectRefused(actor, t.ofAcme)
    expect((await actor.post('/api/publishers/acme/service-accounts', { name: 'x' })).status).toBe(403)
    expect((await actor.get('/api/publishers/acme/service-accounts')).status).toBe(403)
  }
  expect((await t.ofAcme.robot.get('/api/auth/me')).status).toBe(200)
  const reader = await t.app.withScopes(t.alice, ['read'])
  expect((await reader.get(`/api/service-accounts/${t.ofAcme.account.id}`)).status).toBe(200)
  expect((await reader.delete(`/api/service-accounts/${t.ofAcme.account.id}`)).status).toBe(403)
  const asWriter = await t.app.withScopes(t.owner, ['write'])
  expect((await asWriter.delete(`/api/service-accounts/${t.ofAcme.account.id}`)).status).toBe(403)
  expect((await t.app.anonymous.delete(`/api/service-accounts/${t.ofAcme.account.id}`)).status).toBe(401)
  expect((await t.root.put(`/api/service-accounts/${t.ofAcme.account.id}`, { name: 'Renamed' })).status).toBe(200)
})

it('restricts service accounts of the server to administrators', async () => {
  await using t = await teamWithRobots()
  for (const actor of [t.alice, t.eve, await t.app.viewer(), t.ofAcme.robot, t.ofServer.robot]) {
    await expectRefused(actor, t.ofServer)
    expect((await actor.post('/api/admin/service-accounts', { name: 'x' })).status).toBe(403)
    expect((await actor.get('/api/admin/service-accounts')).status).toBe(403)
  }
  expect((await t.root.delete(`/api/service-accounts/${t.ofServer.account.id}`)).status).toBe(200)
})

it('hides service accounts in GraphQL from those who do not manage them', async () => {
  await using t = await teamWithRobots()
  const query = '{ serviceAccounts(first: 2) { nodes { id } } }'
  const { body } = await t.root.graphql(query)
  const [ofServer, ofAcme] = body.data.serviceAccounts.nodes as { id: string }[]
  const seen = async (actor: Actor) => {
    const answer = await actor.graphql(
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id } publisher(slug: "acme") { serviceAccounts { name } members { user { kind } } } }',
      { ids: [ofServer?.id, ofAcme?.id] },
    )
    const { nodes, publisher } = answer.body.data
    return [nodes.map((node: unknown) => node !== null), publisher.serviceAccounts?.length ?? null]
  }
  expect(await seen(t.root)).toEqual([[true, true], 1])
  expect(await seen(t.alice)).toEqual([[false, true], 1])
  for (const actor of [t.bob, t.eve, t.ofAcme.robot]) expect(await seen(actor)).toEqual([[false, false], null])
  expect((await t.alice.graphql(query)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
})

it('does not let a service account change its account, create tokens or join a publisher', async () => {
  await using t = await teamWithRobots()
  const requests = [
    ['POST', '/api/auth/keys', { name: 'child' }],
    ['GET', '/api/auth/keys', undefined],
    ['GET', '/api/auth/sessions', undefined],
    ['PATCH', '/api/auth/profile', { displayName: 'Free robot' }],
    ['DELETE', '/api/auth/avatar', undefined],
    ['POST', '/api/auth/change-password', { currentPassword: 'x', newPassword: 'correct horse' }],
    ['POST', '/api/publishers', { id: 'own', displayName: 'Own' }],
    ['POST', '/api/publishers/verify/start', { domain: 'own.example.com', displayName: 'Own' }],
    ['PUT', `/api/publishers/acme/members/${t.ofServer.account.id}`, { role: 'member' }],
    ['POST', '/api/admin/service-accounts', { name: 'child' }],
  ] as const
  for (const { robot } of [t.ofAcme, t.ofServer])
    for (const [method, path, body] of requests) {
      const answer = await robot.send(method, path, body)
      expect([path, answer.status, answer.body.error.code]).toEqual([path, 403, 'InsufficientPermissions'])
    }
  const { body } = await t.ofAcme.robot.post('/api/auth/keys', { name: 'child' })
  expect(body.error.message).toBe('A service account cannot do this: its administrators manage the account and its tokens.')
})

it('keeps the membership of a service account, by which it belongs to its publisher', async () => {
  await using t = await teamWithRobots()
  const { account, robot } = t.ofAcme
  await rival(t)
  for (const actor of [t.alice, t.root, robot])
    expect([403, 409]).toContain((await actor.delete(`/api/publishers/acme/members/${account.id}`)).status)
  expect(await t.alice.delete(`/api/publishers/acme/members/${account.id}`)).toMatchObject({ status: 409 })
  for (const { id } of [account, t.ofServer.account])
    for (const slug of ['acme', 'rival'])
      expect((await t.root.put(`/api/publishers/${slug}/members/${id}`, { role: 'admin' })).status).toBe(409)
  expect(await t.alice.get('/api/publishers/acme/service-accounts')).toMatchObject({ body: { serviceAccounts: [{ id: account.id }] } })
})

it('does not count a service account as an admin who remains', async () => {
  await using t = await teamWithRobots()
  await t.alice.put(`/api/service-accounts/${t.ofAcme.account.id}`, { publisherRole: 'admin' })
  await t.alice.delete(`/api/publishers/acme/members/${t.root.id}`)
  expect((await t.alice.put(`/api/publishers/acme/members/${t.alice.id}`, { role: 'member' })).status).toBe(400)
  expect(await t.owner.delete(`/api/admin/users/${t.alice.id}`)).toMatchObject({ status: 409, body: { error: { message: /acme/ } } })
})

it('refuses what only people have: passwords, invitations, roles of administrators, the ownership, sign-in', async () => {
  await using t = await teamWithRobots()
  const { id, address } = t.ofServer.account
  const requests = [
    ['PUT', `/api/admin/users/${id}`, { role: 'admin' }],
    ['PUT', `/api/admin/users/${id}`, { displayName: 'x' }],
    ['DELETE', `/api/admin/users/${id}`, undefined],
    ['POST', `/api/admin/users/${id}/reset-password`, { password: 'correct horse' }],
    ['POST', '/api/admin/transfer-ownership', { email: address }],
    ['POST', '/api/admin/users', { email: address, displayName: 'x' }],
  ] as const
  for (const [method, path, body] of requests) expect([path, (await t.owner.send(method, path, body)).status]).toEqual([path, 409])
  const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { inviteUrl } }'
  const { body } = await t.owner.graphql(`query ($id: ID!) { user(by: { uuid: $id }) { id status viewerCanEdit viewerCanChangeAccess } }`, {
    id,
  })
  expect(body.data.user).toMatchObject({ status: 'ACTIVE', viewerCanEdit: false, viewerCanChangeAccess: false })
  const invited = await t.owner.graphql(invite, { input: { userId: body.data.user.id } })
  expect(invited.body.errors[0].extensions.code).toBe('Conflict')
  for (const command of ['reset-password', 'make-owner']) expect((await adminJson(t.app, command, address)).code).toBe(1)
  expect((await adminJson(t.app, 'change-role', address, 'admin')).code).toBe(1)
  const login = (email: string) => t.app.anonymous.post('/api/auth/login', { email, password: 'correct horse' }, { ip: t.app.address() })
  const [known, unknown] = [await login(address), await login('unknown@service.invalid')]
  expect(known.status).toBe(401)
  expect(known.body).toEqual(unknown.body)
})

it('does not count or list service accounts as people', async () => {
  await using t = await teamWithRobots()
  const query = `{ people: users(first: 100) { totalCount nodes { kind } } programs: users(first: 100, kinds: [SERVICE]) { totalCount nodes { kind } }
    all: users(first: 100, kinds: [PERSON, SERVICE], status: ACTIVE) { totalCount } invited: users(first: 1, kinds: [PERSON, SERVICE], status: INVITED) { totalCount }
    serverStatistics { counts { users } } }`
  const { body } = await t.root.graphql(query)
  const { people, programs, all, invited, serverStatistics } = body.data
  expect(new Set(people.nodes.map(({ kind }: { kind: string }) => kind))).toEqual(new Set(['PERSON']))
  expect(programs).toMatchObject({ totalCount: 2, nodes: [{ kind: 'SERVICE' }, { kind: 'SERVICE' }] })
  expect([all.totalCount, invited.totalCount, serverStatistics.counts.users]).toEqual([people.totalCount + 2, 0, people.totalCount])
  const { body: listed } = await t.root.get('/api/admin/users')
  expect(listed.totalCount).toBe(people.totalCount)
  const { body: attention } = await t.root.graphql('{ attention { kind } }')
  expect(attention.data.attention.map(({ kind }: { kind: string }) => kind.toLowerCase())).not.toContain('invitations_unanswered')
})

it('can be an uploader by its address, unless it cannot publish', async () => {
  await using t = await teamWithRobots()
  await publish(t.eve, { name: 'eves', version: '1.0.0' })
  const add = (address: string) => t.eve.put(`/api/packages/eves/uploaders/${address}`)
  expect((await add(t.ofServer.account.address)).status).toBe(200)
  await publish(t.ofServer.robot, { name: 'eves', version: '1.1.0' })
  await t.alice.put(`/api/service-accounts/${t.ofAcme.account.id}`, { role: 'viewer' })
  expect((await add(t.ofAcme.account.address)).status).toBe(409)
})
