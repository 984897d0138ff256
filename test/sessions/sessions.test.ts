import { expect, it } from 'vitest'
import { AuthorizationRequest } from '../../server/accounts/oauth/entity.ts'
import { collectAuthorizations } from '../../server/accounts/oauth/service.ts'
import { collectSessions } from '../../server/accounts/sessions/service.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { requestConsent, codeFor } from '../support/oauth.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

type Listed = { id: string; current: boolean }

const list = async (actor: Actor): Promise<Listed[]> => (await actor.get('/api/auth/sessions')).body.sessions
const current = async (browser: Actor) => (await list(browser)).find((session) => session.current)?.id ?? ''
const days = (count: number) => new Date(Date.UTC(2026, 0, 1) + count * 86_400_000)
const revocations = async (app: TestApp) =>
  (await app.services.database.reads.all("select id from audit_entries where kind = 'session.revoked'")).length

it('lists the sessions, newest first, and marks the current one', async () => {
  await using app = await testApp({ now: days(0) })
  const alice = await app.member()
  const one = await alice.session()
  app.clock.now = days(1)
  const other = await alice.session()
  const { status, body } = await one.get('/api/auth/sessions')
  const entry = { id: expect.any(String), clientIp: alice.ip, userAgent: 'lightMyRequest' }
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      sessions: [
        {
          ...entry,
          createdAt: days(1).toISOString(),
          lastUsedAt: days(1).toISOString(),
          expiresAt: days(31).toISOString(),
          current: false,
        },
        { ...entry, createdAt: days(0).toISOString(), lastUsedAt: expect.any(String), expiresAt: days(30).toISOString(), current: true },
      ],
    },
  })
  expect((await list(other)).map((session) => session.current)).toEqual([true, false])
  expect((await list(alice)).map((session) => session.current)).toEqual([false, false])
  expect(await list(await app.member())).toEqual([])
  expect(await app.anonymous.get('/api/auth/sessions')).toMatchObject({ status: 401 })
})

it('omits sessions older than 30 days or unused for 7', async () => {
  await using app = await testApp({ now: days(0) })
  const alice = await app.member()
  await alice.session()
  app.clock.now = days(3)
  await alice.session()
  app.clock.now = days(7)
  expect(await list(alice)).toHaveLength(1)
  app.clock.now = days(10)
  expect(await list(alice)).toHaveLength(0)
  await alice.session()
  await app.services.database.orm.em.getConnection().execute('update sessions set expires_at = created_at')
  expect(await list(alice)).toHaveLength(0)
})

it('ends one session immediately and no other', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const [one, other] = [await alice.session(), await alice.session()]
  const id = await current(other)
  const answer = await one.delete(`/api/auth/sessions/${id}`)
  expect(answer).toMatchObject({ status: 200, body: { status: 'ok' }, cookies: [] })
  expect(await other.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await one.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await one.delete(`/api/auth/sessions/${id}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await revocations(app)).toBe(1)
  const last = await one.delete(`/api/auth/sessions/${await current(one)}`)
  expect(last).toMatchObject({
    status: 200,
    cookies: [
      { name: names.session, value: '' },
      { name: names.csrf, value: '' },
    ],
  })
  expect(await one.get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('answers 404 for sessions of other users', async () => {
  await using app = await testApp()
  const [alice, bob, owner] = [await app.member(), await app.member(), await app.owner()]
  const browser = await alice.session()
  const id = await current(browser)
  for (const other of [bob, await bob.session(), owner])
    expect(await other.delete(`/api/auth/sessions/${id}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  for (const wrong of ['x', '..%2f', '00000000-0000-7000-8000-000000000000'])
    expect(await browser.delete(`/api/auth/sessions/${wrong}`)).toMatchObject({ status: 404 })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200 })
  const mine = (await browser.graphql('{ viewer { id sessions(first: 1) { nodes { id } } } }')).body.data.viewer
  const look = 'query ($id: ID!) { node(id: $id) { id ... on User { sessions(first: 1) { nodes { id } } } } }'
  expect((await browser.graphql(look, { id: mine.sessions.nodes[0].id })).body.data.node).toEqual({ id: mine.sessions.nodes[0].id })
  expect((await bob.graphql(look, { id: mine.sessions.nodes[0].id })).body.data.node).toBeNull()
  expect((await bob.graphql(look, { id: mine.id })).body.data.node).toBeNull()
  // Administrators see them in GraphQL (test/accounts/admin-access.test.ts).
  expect((await owner.graphql(look, { id: mine.id })).body.data.node.sessions).toEqual(mine.sessions)
})

it('ends all other sessions with a session and all sessions with a token', async () => {
  await using app = await testApp()
  const [alice, bob] = [await app.member(), await (await app.member()).session()]
  const [one, two, three] = [await alice.session(), await alice.session(), await alice.session()]
  expect(await one.post('/api/auth/sessions/revoke-others')).toMatchObject({ status: 200, body: { status: 'ok' } })
  for (const ended of [two, three]) expect(await ended.get('/api/auth/me')).toMatchObject({ status: 401 })
  for (const alive of [one, alice, bob]) expect(await alive.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await one.post('/api/auth/sessions/revoke-others')).toMatchObject({ status: 200 })
  expect(await revocations(app)).toBe(1)
  expect((await alice.graphql('mutation { revokeOtherSessions { revokedCount } }')).body.data.revokeOtherSessions).toEqual({
    revokedCount: 1,
  })
  expect(await one.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await bob.get('/api/auth/me')).toMatchObject({ status: 200 })
})

it('requires the CSRF token, write scope and no password change due', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const reader = await app.withScopes(alice, ['read'])
  const browser = await alice.session()
  const due = await (await app.member({ mustChangePassword: true })).session()
  const id = await current(browser)
  for (const attempt of [
    browser.delete(`/api/auth/sessions/${id}`, { headers: { 'x-csrf-token': '' } }),
    browser.post('/api/auth/sessions/revoke-others', undefined, { headers: { 'x-csrf-token': 'x' } }),
    reader.delete(`/api/auth/sessions/${id}`),
    reader.post('/api/auth/sessions/revoke-others'),
    reader.get('/api/auth/sessions'),
    due.get('/api/auth/sessions'),
    due.post('/api/auth/sessions/revoke-others'),
  ]) {
    expect(await attempt).toMatchObject({ status: 403 })
  }
  for (const attempt of [app.anonymous.delete(`/api/auth/sessions/${id}`), app.anonymous.post('/api/auth/sessions/revoke-others')]) {
    expect(await attempt).toMatchObject({ status: 401 })
  }
  expect(await list(alice)).toHaveLength(1)
})

it('pages by cursor', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const ids: string[] = []
  for (let count = 0; count < 5; count++) ids.unshift(await current(await alice.session()))
  const query =
    'query ($after: String) { viewer { sessions(first: 3, after: $after) { totalCount nodes { uuid } pageInfo { hasNextPage endCursor } } } }'
  const one = (await alice.graphql(query)).body.data.viewer.sessions
  const two = (await alice.graphql(query, { after: one.pageInfo.endCursor })).body.data.viewer.sessions
  expect(one).toMatchObject({ totalCount: 5, pageInfo: { hasNextPage: true } })
  expect([...one.nodes, ...two.nodes].map(({ uuid }) => uuid)).toEqual(ids)
  expect(two.pageInfo.hasNextPage).toBe(false)
})

it('deletes ended sessions and obsolete authorization requests', async () => {
  await using app = await testApp({ now: days(0) })
  const alice = await app.member()
  const collect = async () => ({
    sessions: await collectSessions(app.services),
    authorizations: await collectAuthorizations(app.services),
  })
  const count = () => app.services.database.fork().count(AuthorizationRequest)
  const browser = await alice.session()
  await requestConsent(browser)
  const given = await codeFor(browser)
  const { body } = await app.anonymous.post('/oauth/token', given)
  expect(await collect()).toEqual({ sessions: 0, authorizations: 0 })
  app.clock.now = days(1.5)
  expect(await collect()).toEqual({ sessions: 0, authorizations: 1 })
  app.clock.now = days(8.5)
  expect(await collect()).toEqual({ sessions: 1, authorizations: 0 })
  expect(await count()).toBe(1)
  expect(await app.anonymous.post('/oauth/token', given)).toMatchObject({ status: 400 })
  expect(await app.withToken(body.access_token).get('/api/auth/me')).toMatchObject({ status: 401 })
  app.clock.now = days(92)
  expect(await collect()).toEqual({ sessions: 0, authorizations: 1 })
})

it('deletes expired rate limits from the shared database', async () => {
  await using app = await testApp({ now: days(0) })
  const isShared = app.config.DB_BACKEND === 'postgres'
  const counted = async () =>
    isShared ? Number((await app.services.database.reads.get<{ count: string }>('select count(*) from rate_limits'))?.count) : 0
  await app.anonymous.post('/api/auth/login', { email: 'unknown@example.com', password: 'of no account here' })
  await app.services.limits.collect()
  expect((await counted()) > 0).toBe(isShared)
  app.clock.now = days(1)
  await app.services.limits.collect()
  expect(await counted()).toBe(0)
})
