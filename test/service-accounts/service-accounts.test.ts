import { expect, it } from 'vitest'
import { anotherInstance } from '../support/instances.ts'
import { robotOf, teamWithRobots } from '../support/service-accounts.ts'
import { team } from '../support/publishers.ts'
import { publish } from '../support/publish.ts'
import { testApp } from '../app.ts'

it('creates a service account of a publisher, whose token publishes for it', async () => {
  await using t = await team()
  const { account, robot } = await robotOf(t.app, t.alice, 'acme', { role: undefined, name: 'Release robot' })
  expect(account).toEqual({
    id: expect.any(String),
    name: 'Release robot',
    address: expect.stringMatching(/^release-robot-[0-9a-f]{8}@service\.invalid$/),
    role: 'member',
    isActive: true,
    createdAt: expect.any(String),
    publisherId: 'acme',
    publisherRole: 'member',
  })
  expect(await robot.get('/api/auth/me')).toMatchObject({ body: { userId: account.id, status: 'active', displayName: 'Release robot' } })
  await publish(t.alice, { name: 'acme_ui', version: '1.0.0' })
  expect((await t.alice.put('/api/packages/acme_ui/publisher', { publisherId: 'acme' })).status).toBe(200)
  await publish(robot, { name: 'acme_ui', version: '1.1.0' })
  const { body } = await t.root.graphql('{ auditEntries(first: 1, kind: "package.version_published") { nodes { actor { uuid kind } } } }')
  expect(body.data.auditEntries.nodes).toEqual([{ actor: { uuid: account.id, kind: 'SERVICE' } }])
})

it('makes a service account of the server a viewer unless another role is given', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const { body } = await admin.post('/api/admin/service-accounts', { name: '日本語', publisherId: 'acme', publisherRole: 'admin' })
  expect(body).toMatchObject({
    address: expect.stringMatching(/^account-[0-9a-f]{8}@/),
    role: 'viewer',
    publisherId: null,
    publisherRole: null,
  })
  const { body: issued } = await admin.post(`/api/service-accounts/${body.id}/tokens`, {
    name: 'reads',
    scopes: ['read', 'write', 'admin'],
  })
  expect(issued.scopes).toEqual(['read'])
  expect(await admin.put(`/api/service-accounts/${body.id}`, { publisherRole: 'admin' })).toMatchObject({ status: 409 })
  for (const role of ['admin', 'owner']) {
    expect((await admin.post('/api/admin/service-accounts', { name: 'x', role })).status).toBe(400)
    expect((await admin.put(`/api/service-accounts/${body.id}`, { role })).status).toBe(400)
  }
})

it('renames, disables and enables an account; the change holds on other instances at the next request', async () => {
  await using t = await teamWithRobots()
  await using second = await anotherInstance(t.app)
  const { account, robot } = t.ofAcme
  const there = robot.at(second ?? t.app)
  const change = (fields: object) => t.alice.put(`/api/service-accounts/${account.id}`, fields)
  expect((await there.get('/api/auth/me')).status).toBe(200)
  expect(await change({ isActive: false, name: 'Old robot' })).toMatchObject({ body: { isActive: false, name: 'Old robot' } })
  expect((await there.get('/api/auth/me')).status).toBe(401)
  expect(await t.alice.post(`/api/service-accounts/${account.id}/tokens`, { name: 'x' })).toMatchObject({ status: 409 })
  expect(await change({ isActive: true, publisherRole: 'admin', role: 'viewer' })).toMatchObject({
    body: { isActive: true, publisherRole: 'admin', role: 'viewer', address: account.address },
  })
  expect(await there.get('/api/auth/me')).toMatchObject({ status: 200, body: { displayName: 'Old robot', role: 'viewer' } })
  expect((await change({ name: 'Old robot' })).status).toBe(200)
  const { body } = await t.root.get('/api/admin/audit-log?kind=service_account.')
  expect(body.entries.map(({ kind, publisher }: { kind: string; publisher: string | null }) => [kind, publisher])).toEqual([
    ['service_account.updated', 'acme'],
    ['service_account.updated', 'acme'],
    ['service_account.created', null],
    ['service_account.created', 'acme'],
  ])
})

it('lists and revokes tokens of an account', async () => {
  await using t = await teamWithRobots()
  const { account, robot, tokenId } = t.ofAcme
  const path = `/api/service-accounts/${account.id}/tokens`
  expect(await t.alice.get(path)).toMatchObject({ body: { tokens: [{ id: tokenId, name: 'CI', scopes: ['read', 'write'] }] } })
  expect((await t.alice.delete(`${path}/${tokenId}`)).status).toBe(200)
  expect((await robot.get('/api/auth/me')).status).toBe(401)
  expect(await t.alice.get(path)).toMatchObject({ body: { tokens: [] } })
  const { body } = await t.alice.graphql(
    '{ publisher(slug: "acme") { activity(first: 2) { nodes { kind actor { displayName } summary } } } }',
  )
  expect(body.data.publisher.activity.nodes).toMatchObject([
    { kind: 'token.revoked', summary: `${t.alice.user.displayName} revoked the token "CI" of Release robot` },
    { kind: 'token.created', summary: `${t.alice.user.displayName} created the token "CI" of Release robot (read, write)` },
  ])
  const ofPerson = await t.bob.post('/api/auth/keys', { name: 'own' })
  expect((await t.root.delete(`${path}/${ofPerson.body.id}`)).status).toBe(404)
})

it('limits a token that a token creates to its scopes and lifetime, and revokes both together', async () => {
  await using t = await teamWithRobots()
  const { body: parent } = await t.alice.post('/api/auth/keys', { name: 'parent', expiresInDays: 1 })
  const path = `/api/service-accounts/${t.ofAcme.account.id}/tokens`
  const { body: child } = await t.app.withToken(parent.secret).post(path, { name: 'child', expiresInDays: 30 })
  expect(Date.parse(child.expiresAt)).toBeLessThanOrEqual(Date.parse(parent.expiresAt))
  await t.alice.delete(`/api/auth/keys/${parent.id}`)
  expect((await t.app.withToken(child.secret).get('/api/auth/me')).status).toBe(401)
})

it('respects the maximum lifetime of tokens', async () => {
  await using app = await testApp({ env: { TOKEN_MAX_DAYS: '30' } })
  const admin = await app.admin()
  const { body: account } = await admin.post('/api/admin/service-accounts', { name: 'Robot' })
  const path = `/api/service-accounts/${account.id}/tokens`
  expect((await admin.post(path, { name: 'x', expiresInDays: 31 })).status).toBe(400)
  const { body } = await admin.post(path, { name: 'x' })
  expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBe(30 * 86_400_000)
})

it('deletes an account with its tokens, unless a package would be left without an uploader', async () => {
  await using t = await teamWithRobots()
  await publish(t.ofAcme.robot, { name: 'robot_made', version: '1.0.0' })
  const path = `/api/service-accounts/${t.ofAcme.account.id}`
  expect(await t.alice.delete(path)).toMatchObject({ status: 409, body: { error: { message: /robot_made/ } } })
  expect((await t.ofAcme.robot.put(`/api/packages/robot_made/uploaders/${t.alice.email}`)).status).toBe(200)
  expect((await t.alice.delete(path)).status).toBe(200)
  expect((await t.ofAcme.robot.get('/api/auth/me')).status).toBe(401)
  for (const again of [await t.alice.get(path), await t.alice.delete(path), await t.alice.put(path, { name: 'x' })])
    expect(again.status).toBe(404)
  expect((await t.alice.get('/api/packages/robot_made')).status).toBe(200)
})

it('keeps a publisher that has service accounts', async () => {
  await using t = await teamWithRobots()
  expect(await t.root.delete('/api/publishers/acme')).toMatchObject({ status: 409, body: { error: { message: /Release robot/ } } })
  await t.alice.delete(`/api/service-accounts/${t.ofAcme.account.id}`)
  expect((await t.root.delete('/api/publishers/acme')).status).toBe(200)
})

it('lists accounts of the server, of publishers, or both', async () => {
  await using t = await teamWithRobots()
  const names = async (args: string) => {
    const query = `{ serviceAccounts(first: 10${args}) { totalCount nodes { name publisher { slug } viewerCanManage user { kind } } } }`
    const { body } = await t.root.graphql(query)
    expect(body.data.serviceAccounts.totalCount).toBe(body.data.serviceAccounts.nodes.length)
    for (const node of body.data.serviceAccounts.nodes) expect(node).toMatchObject({ viewerCanManage: true, user: { kind: 'SERVICE' } })
    return body.data.serviceAccounts.nodes.map((node: { name: string }) => node.name)
  }
  expect(await names('')).toEqual(['Server robot', 'Release robot'])
  expect(await names(', direction: ASC')).toEqual(['Release robot', 'Server robot'])
  expect(await names(', belongsToServer: true')).toEqual(['Server robot'])
  expect(await names(', belongsToServer: false')).toEqual(['Release robot'])
  expect(await t.root.get('/api/admin/service-accounts')).toMatchObject({ body: { serviceAccounts: [{}, {}] } })
  expect(await t.alice.get('/api/publishers/acme/service-accounts')).toMatchObject({
    body: { serviceAccounts: [{ name: 'Release robot' }] },
  })
})
