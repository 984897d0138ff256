import { describe, expect, it } from 'vitest'
import { type TestOptions, testApp } from '../app.ts'
import { Browser, providerEnv, signedIn } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice Acme' }

async function server(env: Record<string, string> = {}, options: TestOptions = {}) {
  const stub = await StubIssuer.start()
  return { stub, app: await testApp({ ...options, env: { ...providerEnv(stub), ...env } }) }
}

const domainSignUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }

describe('the first sign-in through a provider', () => {
  it('is refused without sign-up, and starts no session', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    expect(await browser.signIn(stub, alice)).toBe('/login?error=not_linked&provider=acme')
    expect(await browser.viewer()).toBeNull()
  })

  it.each([
    ['domain', domainSignUp, alice],
    ['domain in another case', { ...domainSignUp, OIDC_SIGNUP_DOMAINS: 'ACME.example, other.example' }, alice],
    ['group', { OIDC_SIGNUP: 'group', OIDC_SIGNUP_GROUPS: 'staff' }, { ...alice, email_verified: undefined, groups: ['x', 'staff'] }],
  ])('creates an account for a %s, without a password', async (_how, env, person) => {
    const { stub, app } = await server(env)
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    expect(await browser.signIn(stub, person, '/auth/oidc/acme?return_to=/packages%3Fq=x')).toBe('/packages?q=x')
    expect(await browser.viewer()).toEqual({ email: 'alice@acme.example', role: 'VIEWER', displayName: 'Alice Acme', hasPassword: false })
    const second = new Browser(app)
    expect(await second.signIn(stub, { sub: 'alice-1' })).toBe('/')
    expect((await second.viewer())?.email).toBe('alice@acme.example')
    const admin = await signedIn(app, 'admin')
    const users = await admin.actor.graphql('{ users(first: 10, query: "alice") { nodes { status linkedIdentities { subject email } } } }')
    expect(users.body.data.users.nodes).toEqual([{ status: 'ACTIVE', linkedIdentities: [{ subject: 'alice-1', email: null }] }])
  })

  it.each([
    ['an unverified e-mail address', domainSignUp, { ...alice, email_verified: false }],
    ['an e-mail address that may be unverified', domainSignUp, { ...alice, email_verified: undefined }],
    ['a verification that is a text', domainSignUp, { ...alice, email_verified: 'true' }],
    ['another domain', domainSignUp, { ...alice, email: 'alice@evil.example' }],
    ['a domain that ends alike', domainSignUp, { ...alice, email: 'alice@notacme.example' }],
    ['a subdomain', domainSignUp, { ...alice, email: 'alice@x.acme.example' }],
    ['no e-mail address', domainSignUp, { sub: 'alice-1', email_verified: true }],
    ['another group', { OIDC_SIGNUP: 'group', OIDC_SIGNUP_GROUPS: 'staff' }, { ...alice, groups: ['staff2', 'Staff'] }],
    ['no groups', { OIDC_SIGNUP: 'group', OIDC_SIGNUP_GROUPS: 'staff' }, alice],
  ])('is refused for %s', async (_what, env, person) => {
    const { stub, app } = await server(env)
    await using _app = app
    await using _stub = stub
    expect(await new Browser(app).signIn(stub, person)).toBe('/login?error=not_linked&provider=acme')
  })

  it('never takes over the account with the same e-mail address, and gives the same answer as for others', async () => {
    const { stub, app } = await server(domainSignUp)
    await using _app = app
    await using _stub = stub
    await app.member({ email: 'Alice@acme.example' })
    const browser = new Browser(app)
    expect(await browser.signIn(stub, alice)).toBe('/login?error=not_linked&provider=acme')
    expect(await browser.viewer()).toBeNull()
    expect(await new Browser(app).signIn(stub, { ...alice, sub: 'mallory', email_verified: false })).toBe(
      '/login?error=not_linked&provider=acme',
    )
  })
})

describe('linking', () => {
  it('needs the session that started it, and signs in to its account from then on', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = await signedIn(app)
    const { redirectUrl } = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    expect(await browser.finish(stub, new URL(redirectUrl), alice)).toBe('/settings/security')
    const listed = await browser.get('/api/auth/identities')
    expect(listed.body.identities).toMatchObject([{ issuer: stub.issuer, subject: 'alice-1', email: 'alice@acme.example' }])
    const other = new Browser(app)
    expect(await other.signIn(stub, alice)).toBe('/')
    expect((await other.viewer())?.email).toBe(browser.email)
  })

  it('refuses an identity of another account, another session, and a session without a recent proof', async () => {
    const { stub, app } = await server({}, { now: new Date() })
    await using _app = app
    await using _stub = stub
    const [one, two] = [await signedIn(app), await signedIn(app)]
    const link = async (browser: Browser) =>
      new URL((await browser.mutate('linkIdentity', { provider: 'acme', returnTo: '/me' }, 'redirectUrl')).redirectUrl)
    expect(await one.finish(stub, await link(one), alice)).toBe('/me')
    expect(await two.finish(stub, await link(two), alice)).toBe('/me?error=already_linked&provider=acme')
    const url = await link(two)
    // The session of another user in the same browser, such as after signing out and in again.
    const mixed = new Browser(app, { ...two.cookies, ...(await (await app.member()).session()).cookies })
    expect(await mixed.finish(stub, url, { sub: 'bob' })).toBe('/me?error=session_ended&provider=acme')
    app.clock.now = new Date(Date.now() + 11 * 60_000)
    const error = await one.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    expect(error.extensions).toMatchObject({ code: 'InsufficientPermissions', proof: 'password' })
  })

  it('can be undone, but not for the last way to sign in', async () => {
    const { stub, app } = await server(domainSignUp)
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    await browser.signIn(stub, { ...alice, auth_time: Math.floor(Date.now() / 1000) })
    const [own] = (await browser.get('/api/auth/identities')).body.identities
    expect((await browser.actor.delete(`/api/auth/identities/${own.id}`)).status).toBe(409)
    const { redirectUrl } = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    await browser.finish(stub, new URL(redirectUrl), { sub: 'alice-2' })
    const elsewhere = new Browser(app)
    await elsewhere.signIn(stub, alice)
    expect((await browser.actor.delete(`/api/auth/identities/${own.id}`)).status).toBe(200)
    expect(await elsewhere.viewer()).toBeNull()
    expect(await browser.viewer()).not.toBeNull()
    expect(await new Browser(app).signIn(stub, { ...alice, email: 'other@acme.example' })).not.toContain('error')
    const other = await signedIn(app)
    const [left] = (await browser.get('/api/auth/identities')).body.identities
    expect((await other.actor.delete(`/api/auth/identities/${left.id}`)).status).toBe(404)
  })
})

describe('an invitation', () => {
  it('is accepted with an identity, once', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const admin = await app.admin()
    const invited = await admin.post('/api/admin/users', { email: 'new@example.com', displayName: 'New', role: 'member', mode: 'invite' })
    const token = String(invited.body.inviteUrl).split('/').at(-1) ?? ''
    const [browser, late] = [new Browser(app), new Browser(app)]
    const begin = async (one: Browser) =>
      new URL((await one.mutate('acceptInviteWithProvider', { token, provider: 'acme' }, 'redirectUrl')).redirectUrl)
    const [first, second] = [await begin(browser), await begin(late)]
    expect(await browser.finish(stub, first, alice)).toBe('/')
    expect(await browser.viewer()).toEqual({ email: 'new@example.com', role: 'MEMBER', displayName: 'New', hasPassword: false })
    expect(await late.finish(stub, second, { sub: 'bob' })).toBe(`/invite/${token}?error=invitation_invalid&provider=acme`)
    expect((await late.mutate('acceptInviteWithProvider', { token, provider: 'acme' }, 'redirectUrl')).extensions.code).toBe('NotFound')
    expect((await admin.post(`/api/invites/${token}/accept`, { password: 'correct horse battery' })).status).toBe(404)
  })
})
