import { describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { addPasskey, signInWith } from '../support/authenticator.ts'
import { Browser, providerEnv, signedIn } from '../support/oidc.ts'
import { robotOf } from '../support/service-accounts.ts'
import { newKey, StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice', sid: 'session-1' }
const dayMs = 86_400_000

async function server(env: Record<string, string> = {}) {
  const stub = await StubIssuer.start()
  const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example', OIDC_DEFAULT_ROLE: 'member' }
  return { stub, app: await testApp({ now: new Date(), env: { ...providerEnv(stub), ...signUp, ...env } }) }
}

describe('an account without a sign-in through its provider for OIDC_MAX_IDLE_DAYS', () => {
  it('has its sessions ended and its tokens paused until the next sign-in', async () => {
    const { stub, app } = await server({ OIDC_MAX_IDLE_DAYS: '5' })
    await using _app = app
    await using _stub = stub
    const start = app.clock.now?.getTime() ?? 0
    const browser = new Browser(app)
    await browser.signIn(stub, alice)
    const { secret } = (await browser.actor.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })).body
    app.secrets.add('token', secret)
    const token = app.withToken(secret)
    app.clock.now = new Date(start + 5 * dayMs - 1000)
    expect((await token.get('/api/packages')).status).toBe(200)
    expect(await browser.viewer()).not.toBeNull()
    app.clock.now = new Date(start + 5 * dayMs)
    const refused = await token.get('/api/packages')
    expect(refused.status).toBe(401)
    expect(refused.body.error).toMatchObject({ code: 'MissingAuthentication' })
    expect(refused.body.error.message).toMatch(/paused.*5 days.*Sign in at http:\/\/localhost:8080 to use it again/)
    expect(String(refused.headers['www-authenticate'])).toContain('paused')
    expect((await token.graphql('{ packages(first: 1) { totalCount } }')).body.errors[0].message).toContain('paused')
    expect(await browser.viewer()).toBeNull()
    const admin = await app.admin()
    const listed = () => admin.graphql('{ users(first: 9) { nodes { displayName tokens(first: 1) { nodes { isPaused } } } } }')
    const isPaused = async () => {
      const { nodes } = (await listed()).body.data.users
      return nodes.find(({ displayName }: { displayName: string }) => displayName === 'Alice').tokens.nodes[0].isPaused
    }
    expect(await isPaused()).toBe(true)
    expect(await new Browser(app).signIn(stub, alice)).toBe('/')
    expect(await isPaused()).toBe(false)
    expect((await token.get('/api/packages')).status).toBe(200)
  })

  it('is not affected with a password, nor is a linked owner', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    for (const role of ['member', 'owner'] as const) {
      const browser = await signedIn(app, role)
      const { redirectUrl } = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
      await browser.finish(stub, new URL(redirectUrl), { sub: role })
      const { secret } = (await browser.actor.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })).body
      const before = app.clock.now
      app.clock.now = new Date((before?.getTime() ?? 0) + 60 * dayMs)
      expect((await app.withToken(secret).get('/api/packages')).status).toBe(200)
      app.clock.now = before
    }
  })

  it('is affected with a password that PASSWORD_SIGN_IN=owner refuses, and keeps its only identity', async () => {
    const { stub, app } = await server({ PASSWORD_SIGN_IN: 'owner' })
    await using _app = app
    await using _stub = stub
    for (const role of ['member', 'admin', 'owner'] as const) {
      const auth_time = Math.floor(Date.now() / 1000)
      const browser = role === 'owner' ? await signedIn(app, role) : new Browser(app)
      if (role === 'owner') {
        const { redirectUrl } = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
        await browser.finish(stub, new URL(redirectUrl), { sub: role })
      } else await browser.signIn(stub, { ...alice, sub: role, email: `${role}@acme.example`, auth_time })
      const { uuid, linkedIdentities } = (await browser.actor.graphql('{ viewer { uuid linkedIdentities { id } } }')).body.data.viewer
      const columns = `role = '${role}', password_hash = 'set by an administrator'`
      await app.services.database.orm.em.getConnection().execute(`update users set ${columns} where id = ?`, [uuid])
      const { secret } = (await browser.actor.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })).body
      app.secrets.add('token', secret)
      const before = app.clock.now
      app.clock.now = new Date((before?.getTime() ?? 0) + 60 * dayMs)
      expect((await app.withToken(secret).get('/api/packages')).status).toBe(role === 'owner' ? 200 : 401)
      app.clock.now = before
      const unlinked = await browser.mutate('unlinkIdentity', { identityId: linkedIdentities[0].id }, '__typename')
      expect(unlinked.extensions?.code).toBe(role === 'owner' ? undefined : 'Conflict')
    }
  })

  it('is affected without a linked identity, by its last sign-in, unless it can sign in with a password', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const [owner, member] = [await app.owner(), await app.member()]
    const passkey = await addPasskey(await member.session())
    const { robot } = await robotOf(app, owner, 'server')
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 30 * dayMs)
    const statuses = async (at: TestApp) => {
      const callers = [member.at(at), robot.at(at), owner.at(at)]
      return (await Promise.all(callers.map((caller) => caller.get('/api/packages')))).map(({ status }) => status)
    }
    expect(await statuses(app)).toEqual([200, 200, 200])
    await app.stop()
    await using limited = await testApp({ sameDatabaseAs: app, config: { PASSWORD_SIGN_IN: 'owner' } })
    expect(await statuses(limited)).toEqual([401, 200, 200])
    expect(await signInWith(limited, passkey)).toMatchObject({ status: 200 })
    expect(await statuses(limited)).toEqual([200, 200, 200])
  })

  it('costs a request no further statement', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    await browser.signIn(stub, alice)
    const { secret } = (await browser.actor.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })).body
    const usual = await app.member()
    // Twice, because the first request of each instance has more statements.
    for (const actor of [usual, usual, app.withToken(secret), app.withToken(secret)]) await actor.get('/api/auth/me')
    const [own, other] = [
      await app.countQueries(() => app.withToken(secret).get('/api/auth/me')),
      await app.countQueries(() => usual.get('/api/auth/me')),
    ]
    expect(own).toBe(other)
  })
})

describe('signing out', () => {
  it('returns the page of the provider, with the ID token as hint', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    await browser.signIn(stub, alice)
    const answer = await browser.actor.graphql('mutation { logout { endSessionUrl } }')
    const url = new URL(answer.body.data.logout.endSessionUrl)
    expect(url.href).toContain(`${stub.issuer}/logout?`)
    expect(url.searchParams.get('id_token_hint')?.split('.')).toHaveLength(3)
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe('http://localhost:8080/login')
    expect(await browser.viewer()).toBeNull()
    const local = await signedIn(app)
    expect((await local.actor.graphql('mutation { logout { endSessionUrl } }')).body.data.logout.endSessionUrl).toBeNull()
  })
})

describe('back-channel logout', () => {
  const event = { 'http://schemas.openid.net/event/backchannel-logout': {} }

  async function withSessions() {
    const { stub, app } = await server()
    const [one, two, other] = [new Browser(app), new Browser(app), new Browser(app)]
    await one.signIn(stub, alice)
    await two.signIn(stub, { ...alice, sid: 'session-2' })
    await other.signIn(stub, { ...alice, sub: 'bob', email: 'bob@acme.example', sid: 'session-3' })
    let count = 0
    const claims = (changes: object = {}) => {
      const now = Math.floor(Date.now() / 1000)
      return { iss: stub.issuer, aud: 'snug', iat: now, exp: now + 120, jti: `jti-${++count}`, events: event, sub: 'alice-1', ...changes }
    }
    const send = async (token: string, name = 'acme') => {
      const options = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
      return (
        await app.anonymous.post(`/auth/oidc/${name}/backchannel-logout`, new URLSearchParams({ logout_token: token }).toString(), options)
      ).status
    }
    const live = async () => Promise.all([one, two, other].map(async (browser) => (await browser.viewer()) !== null))
    return { stub, app, claims, send, live }
  }

  it('ends the session of a sid, or all sessions of a subject', async () => {
    const { stub, app, claims, send, live } = await withSessions()
    await using _app = app
    await using _stub = stub
    expect(await send(await stub.sign(claims({ sub: undefined, sid: 'session-2' })))).toBe(200)
    expect(await live()).toEqual([true, false, true])
    await stub.rotateKeys()
    expect(await send(await stub.sign(claims()))).toBe(200)
    expect(await live()).toEqual([false, false, true])
  })

  it('accepts a token once', async () => {
    const { stub, app, claims, send, live } = await withSessions()
    await using _app = app
    await using _stub = stub
    const token = await stub.sign(claims({ sub: 'unknown' }))
    const answers = await Promise.all([1, 2, 3].map(() => send(token)))
    expect(answers.toSorted((one, other) => one - other)).toEqual([200, 400, 400])
    expect(await live()).toEqual([true, true, true])
  })

  it('counts only rejected tokens against the limit of an address', async () => {
    const { stub, app, claims, send } = await withSessions()
    await using _app = app
    await using _stub = stub
    for (const sub of ['one', 'two', 'three']) expect(await send(await stub.sign(claims({ sub })))).toBe(200)
    const rejected = await Promise.all(Array.from({ length: 600 }, () => send('')))
    expect(new Set(rejected)).toEqual(new Set([400]))
    expect(await send('')).toBe(429)
  })

  it('refuses tokens that are forged, old, foreign or no logout tokens', async () => {
    const { stub, app, claims, send, live } = await withSessions()
    await using _app = app
    await using _stub = stub
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims())).toString('base64url')}.`
    const tokens = [
      await stub.sign(claims(), await newKey('first')),
      none,
      await stub.sign(claims({ aud: 'another client' })),
      await stub.sign(claims({ iss: 'https://evil.example' })),
      await stub.sign(claims({ iat: Math.floor(Date.now() / 1000) - 3600, exp: undefined })),
      await stub.sign(claims({ exp: Math.floor(Date.now() / 1000) - 600 })),
      await stub.sign(claims({ iat: undefined })),
      await stub.sign(claims({ jti: undefined })),
      await stub.sign(claims({ events: undefined })),
      await stub.sign(claims({ events: { other: {} } })),
      await stub.sign(claims({ nonce: 'that of an ID token' })),
      await stub.sign(claims({ sub: undefined })),
      'x'.repeat(20_000),
      'text',
      '',
    ]
    const answers: number[] = []
    for (const token of tokens) answers.push(await send(token))
    expect(answers).toEqual(tokens.map(() => 400))
    expect(await send(await stub.sign(claims()), 'unknown')).toBe(400)
    expect(await live()).toEqual([true, true, true])
  })
})
