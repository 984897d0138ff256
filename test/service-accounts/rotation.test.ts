import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { makeToken } from '../factories.ts'
import { duringTransaction } from '../support/concurrent-transaction.ts'
import { robotOf, teamWithRobots } from '../support/service-accounts.ts'
import { testApp } from '../app.ts'

type Owned = { account: { id: string }; tokenId: string }
const pathOf = ({ account, tokenId }: Owned) => `/api/service-accounts/${account.id}/tokens/${tokenId}`
const rotate = (actor: Actor, owned: Owned, body: object = {}) => actor.post(`${pathOf(owned)}/rotate`, body)

it('gives a token a new secret, whose former one works until the overlap ends', async () => {
  await using t = await teamWithRobots()
  const { account, robot, tokenId } = t.ofAcme
  const works = async (actor: Actor) => (await actor.get('/api/auth/me')).status
  const { status, body } = await rotate(t.alice, t.ofAcme, { overlapHours: 48 })
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { id: tokenId, name: 'CI', scopes: ['read', 'write'], previousSecretExpiresAt: expect.any(String), expiresAt: null },
  })
  const second = t.app.withToken(body.secret)
  expect([await works(robot), await works(second)]).toEqual([200, 200])
  expect(await second.get('/api/auth/me')).toMatchObject({ body: { userId: account.id } })
  const third = t.app.withToken((await rotate(await t.root.session(), t.ofAcme, { overlapHours: 0 })).body.secret)
  expect([await works(robot), await works(second), await works(third)]).toEqual([401, 401, 200])
  const activity = '{ publisher(slug: "acme") { activity(first: 2) { nodes { kind actor { displayName } summary } } } }'
  const until = expect.stringMatching(/ rotated the secret of the token "CI" of Release robot; the previous one works until \S+Z$/)
  expect((await t.alice.graphql(activity)).body.data.publisher.activity.nodes).toMatchObject([
    { kind: 'token.rotated', actor: { displayName: t.root.user.displayName }, summary: until },
    { kind: 'token.rotated', actor: { displayName: t.alice.user.displayName }, summary: until },
  ])
})

it('rejects rotation by others, and of tokens of other accounts', async () => {
  await using t = await teamWithRobots()
  const rival = await t.app.member()
  await t.root.post('/api/publishers', { id: 'rival', displayName: 'Rival' })
  await t.root.put(`/api/publishers/rival/members/${rival.id}`, { role: 'admin' })
  const reader = await t.app.withScopes(t.alice, ['read'])
  for (const actor of [t.bob, t.eve, rival, reader, t.ofAcme.robot, t.ofServer.robot])
    expect(await rotate(actor, t.ofAcme)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  expect((await rotate(t.app.anonymous, t.ofAcme)).status).toBe(401)
  expect((await rotate(t.alice, t.ofServer)).status).toBe(403)
  const second = await robotOf(t.app, t.alice, 'acme', { name: 'Second robot' })
  const own = await t.alice.post('/api/auth/keys', { name: 'own' })
  for (const tokenId of [second.tokenId, t.ofServer.tokenId, own.body.id])
    for (const act of [rotate, (actor: Actor, owned: Owned) => actor.delete(pathOf(owned))]) {
      const answer = await act(t.root, { ...t.ofAcme, tokenId })
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    }
  for (const { robot } of [second, t.ofServer, t.ofAcme]) expect((await robot.get('/api/auth/me')).status).toBe(200)
})

it('checks in GraphQL that a token belongs to the account', async () => {
  await using t = await teamWithRobots()
  const { body } = await t.root.graphql('{ serviceAccounts(first: 2) { nodes { id tokens(first: 1) { nodes { id } } } } }')
  const [one, other] = body.data.serviceAccounts.nodes
  const input = { serviceAccountId: one.id, tokenId: other.tokens.nodes[0].id }
  for (const name of ['RotateServiceAccountToken', 'RevokeServiceAccountToken']) {
    const field = name[0]?.toLowerCase() + name.slice(1)
    const answer = await t.root.graphql(`mutation ($input: ${name}Input!) { ${field}(input: $input) { token { id } } }`, { input })
    expect(answer.body.errors[0].extensions.code).toBe('NotFound')
  }
})

it('rejects revoked tokens, expired tokens, disabled accounts and overlaps out of range', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z'), env: { TOKEN_MAX_DAYS: '30' } })
  const person = await app.admin()
  const admin = await person.session()
  const owned = await robotOf(app, admin, 'server')
  for (const body of [{ overlapHours: -1 }, { overlapHours: 169 }, { overlapHours: 1.5 }, { expiresInDays: 31 }, { expiresInDays: 0 }])
    expect(await rotate(admin, owned, body), JSON.stringify(body)).toMatchObject({ body: { error: { code: 'InvalidInput' } }, status: 400 })
  expect(await rotate(admin, owned, { expiresInDays: 7 })).toMatchObject({ status: 200, body: { expiresAt: '2026-01-08T00:00:00.000Z' } })
  // A token from before the maximum gets an expiry.
  const endless = await makeToken(app.services, owned.account.id)
  const { body: listed } = await admin.get(`/api/service-accounts/${owned.account.id}/tokens`)
  const { id: tokenId } = listed.tokens.find(({ prefix }: { prefix: string }) => endless.startsWith(prefix))
  expect(await rotate(admin, { ...owned, tokenId })).toMatchObject({ body: { expiresAt: '2026-01-31T00:00:00.000Z' } })
  const account = `/api/service-accounts/${owned.account.id}`
  await admin.put(account, { isActive: false })
  expect(await rotate(admin, owned)).toMatchObject({ status: 409, body: { error: { message: /disabled/ } } })
  await admin.put(account, { isActive: true })
  app.clock.now = new Date('2026-01-08T00:00:00Z')
  const later = await person.session()
  expect(await rotate(later, owned)).toMatchObject({ status: 409, body: { error: { message: /expired/ } } })
  await later.delete(pathOf({ ...owned, tokenId }))
  expect(await rotate(later, { ...owned, tokenId })).toMatchObject({ status: 404 })
})

it('allows a token to rotate only what was created with it, within the lifetime of that token', async () => {
  await using t = await teamWithRobots()
  const { body: parent } = await t.alice.post('/api/auth/keys', { name: 'parent', expiresInDays: 1 })
  const script = t.app.withToken(parent.secret)
  expect(await rotate(script, t.ofAcme)).toMatchObject({ status: 403, body: { error: { message: /rotate only itself/ } } })
  const { body: child } = await script.post(`/api/service-accounts/${t.ofAcme.account.id}/tokens`, { name: 'child' })
  const rotated = await rotate(script, { ...t.ofAcme, tokenId: child.id }, { expiresInDays: 30 })
  expect(rotated).toMatchObject({ status: 200, body: { expiresAt: parent.expiresAt } })
  await t.alice.delete(`/api/auth/keys/${parent.id}`)
  expect((await t.app.withToken(rotated.body.secret).get('/api/auth/me')).status).toBe(401)
})

it('rotates nothing for an admin who loses that right at the same moment', async () => {
  await using t = await teamWithRobots()
  const loss = {
    lock: "select 1 from publishers where id = 'acme'",
    changes: [`delete from publisher_members where user_id = '${t.alice.id}'`],
  }
  expect((await duringTransaction(t.app, loss, () => rotate(t.alice, t.ofAcme, { overlapHours: 0 }))).status).toBe(403)
  expect((await t.ofAcme.robot.get('/api/auth/me')).status).toBe(200)
})
