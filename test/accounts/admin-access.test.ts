import { encodeGlobalID } from '@pothos/plugin-relay'
import { expect, it } from 'vitest'
import { newId } from '../../server/platform/db/base.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'

const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64')
type Page = { nodes: { uuid: string; name: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string } }
const fields = 'nodes { id uuid owner { email } clientIp current }'
const sessionsOf = async (admin: Actor, who: Actor) =>
  (await admin.graphql(`query ($id: ID!) { user(uuid: $id) { sessions(first: 100) { totalCount ${fields} } } }`, { id: who.id })).body.data
    .user.sessions
const revokeSession = (who: Actor, id: string) =>
  who.graphql('mutation ($id: ID!) { revokeUserSession(input: { id: $id }) { session { uuid } } }', { id })
const revokeSessions = (who: Actor, person: Actor) =>
  who.graphql('mutation ($id: ID!) { revokeUserSessions(input: { userId: $id }) { revokedCount } }', { id: globalId('User', person.id) })
const revokeToken = (who: Actor, id: string) =>
  who.graphql('mutation ($id: ID!) { revokeUserToken(input: { id: $id }) { token { uuid } } }', { id })
const codeOf = (answer: Awaited<ReturnType<typeof revokeSession>>) => answer.body.errors?.[0].extensions.code
const summaries = async ({ services }: TestApp, kind: string) =>
  (await services.database.reads.all<{ summary: string }>('select summary from audit_entries where kind = ? order by id', kind)).map(
    ({ summary }) => summary,
  )
const tokenId = async (who: Actor) => globalId('AccessToken', (await who.get('/api/auth/keys')).body.keys[0].id)

it('shows the active sessions of a user only to administrators', async () => {
  await using app = await testApp()
  const [admin, alice, other] = [await app.admin(), await app.member(), await app.member()]
  await alice.session()
  await alice.session()
  const { totalCount, nodes } = await sessionsOf(admin, alice)
  expect(totalCount).toBe(2)
  expect(nodes[0]).toMatchObject({ owner: { email: alice.email }, clientIp: alice.ip, current: false })
  expect(JSON.stringify(nodes)).not.toMatch(/hash/)
  const node = 'query ($id: ID!) { node(id: $id) { id } }'
  expect((await admin.graphql(node, { id: nodes[0].id })).body.data.node).toEqual({ id: nodes[0].id })
  for (const nosy of [other, await app.withScopes(admin, ['write'])])
    expect((await nosy.graphql(node, { id: nodes[0].id })).body.data.node).toBeNull()
  expect(await sessionsOf(await app.owner(), alice)).toMatchObject({ totalCount: 2 })
})

it('lists the sessions of all users with filters, in both orders and page by page', async () => {
  const start = new Date('2026-03-01T00:00:00Z')
  await using app = await testApp({ now: start })
  const [admin, alice, bob] = [await app.admin(), await app.member(), await app.member()]
  const first = await alice.session()
  app.clock.now = new Date(start.getTime() + 3_600_000)
  await bob.session()
  await alice.session()
  app.clock.now = new Date(start.getTime() + 7_200_000)
  await first.get('/api/auth/me')
  await expect.poll(async () => (await first.get('/api/auth/sessions')).body.sessions[1].lastUsedAt).toBe(app.clock.now.toISOString())
  const ask = async (filter: string) =>
    (await admin.graphql(`{ sessions(first: 10, ${filter}) { totalCount nodes { owner { email } } } }`)).body.data.sessions
  const of = (...who: Actor[]) => who.map(({ email }) => ({ owner: { email } }))
  expect((await ask('orderBy: CREATED')).nodes).toEqual(of(alice, bob, alice))
  expect((await ask('orderBy: LAST_USED')).nodes).toEqual(of(alice, alice, bob))
  for (const user of [`email: "${bob.email.toUpperCase()}"`, `uuid: "${bob.id}"`, `userId: "${encodeGlobalID('User', bob.id)}"`])
    expect((await ask(`user: { ${user} }`)).nodes).toEqual(of(bob))
  for (const user of ['email: "unknown@example.com"', 'uuid: "unknown"']) expect((await ask(`user: { ${user} }`)).totalCount).toBe(0)
  expect((await ask(`clientIp: "${alice.ip}"`)).totalCount).toBe(2)
  expect((await ask('unusedSince: "2026-03-01T01:30:00Z"')).totalCount).toBe(2)
  const seen: string[] = []
  for (let after: string | null = null; ;) {
    const page =
      'query ($after: String) { sessions(first: 1, after: $after, orderBy: LAST_USED) { nodes { uuid } pageInfo { hasNextPage endCursor } } }'
    const { nodes, pageInfo }: Page = (await admin.graphql(page, { after })).body.data.sessions
    seen.push(...nodes.map(({ uuid }) => uuid))
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  expect(new Set(seen).size).toBe(3)
})

it.each(['today x', 'never', `999999999999999 ${newId()}`, `-1 ${newId()}`])('refuses a cursor made up of %j', async (key) => {
  await using app = await testApp()
  const admin = await app.admin()
  const after = Buffer.from(`key:${key}`).toString('base64url')
  for (const list of ['sessions(first: 1, orderBy: LAST_USED', 'accessTokens(first: 1, orderBy: EXPIRES'])
    expect(codeOf(await admin.graphql(`query ($after: String) { ${list}, after: $after) { nodes { id } } }`, { after }))).toBe(
      'InvalidInput',
    )
})

it('sorts tokens by expiry, with tokens without expiry last', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (const days of [30, 1, 7]) await admin.post('/api/auth/keys', { name: `${days} days`, expiresInDays: days })
  const names: string[] = []
  for (let after: string | null = null; ;) {
    const page = `query ($after: String, $user: UserReference) { accessTokens(first: 1, after: $after, orderBy: EXPIRES, user: $user) { nodes { name } pageInfo { hasNextPage endCursor } } }`
    const { nodes, pageInfo }: Page = (await admin.graphql(page, { after, user: { email: admin.email } })).body.data.accessTokens
    names.push(...nodes.map(({ name }) => name))
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  expect(names).toEqual(['1 days', '7 days', '30 days', 'test'])
})

it('ends one session of a user, then all of them, for administrators', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin({ displayName: 'Ada' }), await app.member({ displayName: 'Alice' })]
  const [one, two, three] = [await alice.session(), await alice.session(), await alice.session()]
  const { nodes } = await sessionsOf(admin, alice)
  const newest = nodes[0]
  expect((await revokeSession(admin, newest.id)).body.data.revokeUserSession.session.uuid).toBe(newest.uuid)
  expect(
    [await one.get('/api/auth/me'), await two.get('/api/auth/me'), await three.get('/api/auth/me')].map(({ status }) => status),
  ).toEqual([200, 200, 401])
  expect(codeOf(await revokeSession(admin, newest.id))).toBe('NotFound')
  expect((await revokeSessions(admin, alice)).body.data.revokeUserSessions.revokedCount).toBe(2)
  expect((await one.get('/api/auth/me')).status).toBe(401)
  expect((await alice.get('/api/auth/me')).status).toBe(200)
  expect((await revokeSessions(admin, alice)).body.data.revokeUserSessions.revokedCount).toBe(0)
  expect(await summaries(app, 'session.revoked')).toEqual(['Ada ended a session of Alice', 'Ada ended 2 sessions of Alice'])
})

it('revokes a token of a user idempotently for administrators', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin({ displayName: 'Ada' }), await app.member({ displayName: 'Alice' })]
  const id = await tokenId(alice)
  for (let time = 0; time < 2; time++) expect((await revokeToken(admin, id)).body.errors).toBeUndefined()
  expect((await alice.get('/api/auth/me')).status).toBe(401)
  expect(await summaries(app, 'token.revoked')).toEqual(['Ada revoked the token "test" of Alice'])
})

it('protects the owner and refuses to end sessions of other users by id', async () => {
  await using app = await testApp()
  const [owner, admin, alice, mallory] = [await app.owner(), await app.admin(), await app.member(), await app.member()]
  const [browser, ownersBrowser] = [await alice.session(), await owner.session()]
  const [session] = (await sessionsOf(admin, alice)).nodes
  const [owners] = (await sessionsOf(admin, owner)).nodes
  for (const attempt of [revokeSession(admin, owners.id), revokeSessions(admin, owner), revokeToken(admin, await tokenId(owner))])
    expect(codeOf(await attempt)).toBe('InsufficientPermissions')
  const weak = await app.withScopes(admin, ['write'])
  for (const who of [mallory, weak, await mallory.session()]) {
    expect(codeOf(await revokeSession(who, session.id))).toBe('InsufficientPermissions')
    expect(codeOf(await revokeSessions(who, alice))).toBe('InsufficientPermissions')
    expect(codeOf(await revokeToken(who, await tokenId(alice)))).toBe('InsufficientPermissions')
    expect(
      codeOf(await who.graphql('mutation ($id: ID!) { revokeSession(input: { id: $id }) { session { id } } }', { id: session.id })),
    ).toBe('NotFound')
  }
  expect(await admin.delete(`/api/auth/sessions/${session.uuid}`)).toMatchObject({ status: 404 })
  expect(codeOf(await revokeSession(admin, globalId('Session', alice.id)))).toBe('NotFound')
  expect(codeOf(await revokeSessions(admin, app.someone({ ...alice.user, id: session.uuid })))).toBe('NotFound')
  expect([(await browser.get('/api/auth/me')).status, (await ownersBrowser.get('/api/auth/me')).status]).toEqual([200, 200])
})

it('returns what the caller may do with an account and with the server', async () => {
  await using app = await testApp()
  const [owner, admin, alice] = [await app.owner(), await app.admin(), await app.member()]
  const may = async (who: Actor, whom: Actor) => {
    const query = 'query ($id: ID!) { node(id: $id) { ... on User { viewerCanEdit viewerCanChangeAccess } } }'
    return Object.values((await who.graphql(query, { id: globalId('User', whom.id) })).body.data.node)
  }
  expect(await may(admin, alice)).toEqual([true, true])
  expect(await may(admin, admin)).toEqual([true, false])
  expect(await may(admin, owner)).toEqual([false, false])
  expect(await may(owner, admin)).toEqual([true, true])
  expect(await may(owner, owner)).toEqual([false, false])
  expect(await may(alice, alice)).toEqual([false, false])
  const server = async (who: Actor) => (await who.graphql('{ server { viewerCanAdminister viewerCanTransferOwnership } }')).body.data.server
  expect(Object.values(await server(app.anonymous))).toEqual([false, false])
  expect(Object.values(await server(alice))).toEqual([false, false])
  expect(Object.values(await server(admin))).toEqual([true, false])
  expect(Object.values(await server(owner))).toEqual([true, true])
  expect(Object.values(await server(await app.withScopes(owner, ['write'])))).toEqual([false, false])
})
