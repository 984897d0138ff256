import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { Browser, providerEnv, signedIn } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }

async function server(env: Record<string, string> = {}) {
  const stub = await StubIssuer.start()
  const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }
  return { stub, app: await testApp({ now: new Date(), env: { ...providerEnv(stub), ...signUp, ...env } }) }
}

const seconds = () => Math.floor(Date.now() / 1000)

describe('a recent proof through a provider', () => {
  it('is a fresh sign-in of the same person in the same session', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    await browser.signIn(stub, alice)
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 11 * 60_000)
    const refused = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    expect(refused.extensions).toMatchObject({ code: 'InsufficientPermissions', proof: 'provider' })
    const round = async () =>
      new URL((await browser.mutate('confirmIdentity', { provider: 'acme', returnTo: '/me' }, 'redirectUrl')).redirectUrl)
    const atProvider = () => Math.floor((app.clock.now?.getTime() ?? 0) / 1000)
    const at = await round()
    expect(Object.fromEntries(at.searchParams)).toMatchObject({ max_age: '0', prompt: 'login' })
    const failed = (error: string) => `/me?error=${error}&provider=acme`
    // The provider's session, without asking the user again; without the time of the sign-in; and another person.
    expect(await browser.finish(stub, at, { ...alice, auth_time: atProvider() - 3600 })).toBe(failed('invalid_response'))
    expect(await browser.finish(stub, await round(), alice)).toBe(failed('no_auth_time'))
    const [{ lastError }] = (await (await app.admin()).get('/api/admin/oidc-providers')).body.oidcProviders
    expect(lastError).toBeNull()
    expect(await browser.finish(stub, await round(), { ...alice, sub: 'bob', auth_time: atProvider() })).toBe(failed('wrong_identity'))
    expect((await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')).extensions).toMatchObject({ proof: 'provider' })
    expect(await browser.finish(stub, await round(), { ...alice, auth_time: atProvider() })).toBe('/me')
    expect((await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')).redirectUrl).toContain(stub.issuer)
  })

  it('needs the person of the account: the identity of another account does not count', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    await new Browser(app).signIn(stub, { ...alice, sub: 'bob', email: 'bob@acme.example' })
    const browser = new Browser(app)
    await browser.signIn(stub, alice)
    const { redirectUrl } = await browser.mutate('confirmIdentity', { provider: 'acme' }, 'redirectUrl')
    expect(await browser.finish(stub, new URL(redirectUrl), { sub: 'bob', auth_time: seconds() })).toBe(
      '/?error=wrong_identity&provider=acme',
    )
  })

  it('is not a sign-in that the provider may have completed without asking', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    for (const auth_time of [undefined, 0, seconds() - 3600]) {
      const browser = new Browser(app)
      expect(await browser.signIn(stub, { ...alice, auth_time })).toBe('/')
      const refused = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
      expect(refused.extensions).toMatchObject({ proof: 'provider' })
    }
    const browser = new Browser(app)
    await browser.signIn(stub, { ...alice, auth_time: seconds() })
    expect((await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')).redirectUrl).toContain(stub.issuer)
  })

  it('is not possible with a token', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const member = await app.member()
    for (const name of ['linkIdentity', 'confirmIdentity']) {
      const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
      const query = `mutation ($input: ${type}!) { ${name}(input: $input) { redirectUrl } }`
      const answer = await member.graphql(query, { input: { provider: 'acme' } })
      expect(answer.body.errors[0].extensions.code).toBe('InsufficientPermissions')
    }
  })

  it('is not started without the CSRF token', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = await signedIn(app)
    const query = 'mutation { linkIdentity(input: { provider: "acme" }) { redirectUrl } }'
    const answer = await browser.actor.post('/graphql', { query }, { headers: { 'x-csrf-token': 'wrong' } })
    expect(JSON.stringify(answer.body)).toContain('CsrfMismatch')
  })
})

describe('PASSWORD_SIGN_IN=owner', () => {
  it('refuses the passwords of everyone else with one answer, and still accepts the owner', async () => {
    const { stub, app } = await server({ PASSWORD_SIGN_IN: 'owner', SIGNUP_ENABLED: 'true' })
    await using _app = app
    await using _stub = stub
    const [admin, owner] = [await app.admin(), await app.owner()]
    const sign = (email: string, password: string) => app.anonymous.post('/api/auth/login', { email, password }, { ip: app.address() })
    const answers = [
      await sign(admin.email, 'correct horse'),
      await sign(admin.email, 'wrong'),
      await sign('unknown@example.com', 'wrong'),
      await sign(owner.email, 'wrong'),
    ]
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.error.message}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(401)
    expect((await sign(owner.email, 'correct horse')).status).toBe(200)
    const member = await app.member()
    const person = { email: 'new@example.com', displayName: 'New' }
    const refused = [
      await admin.post(`/api/admin/users/${member.id}/reset-password`, {}),
      await admin.post('/api/admin/users', { ...person, role: 'member', mode: 'password' }),
      await app.anonymous.post('/api/auth/signup', { ...person, password: 'correct horse battery' }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403])
    const invited = await admin.post('/api/admin/users', { ...person, role: 'member', mode: 'invite' })
    const token = String(invited.body.inviteUrl).split('/').at(-1)
    expect((await app.anonymous.post(`/api/invites/${token}/accept`, { password: 'correct horse battery' })).status).toBe(403)
    const browser = new Browser(app)
    const { redirectUrl } = await browser.mutate('acceptInviteWithProvider', { token, provider: 'acme' }, 'redirectUrl')
    expect(await browser.finish(stub, new URL(redirectUrl), alice)).toBe('/')
    const listed = await app.anonymous.get('/api/auth/providers')
    expect(listed.body).toEqual({
      oidcProviders: [{ name: 'acme', label: 'acme', signInUrl: '/auth/oidc/acme' }],
      signInSettings: { passwordSignIn: 'owner' },
    })
  })
})

describe('an account that an administrator disabled', () => {
  it('cannot sign in through its provider', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    await browser.signIn(stub, alice)
    const { uuid } = (await browser.actor.graphql('{ viewer { uuid } }')).body.data.viewer
    await (await app.admin()).put(`/api/admin/users/${uuid}`, { isActive: false })
    expect(await browser.viewer()).toBeNull()
    expect(await browser.signIn(stub, alice)).toBe('/login?error=account_disabled&provider=acme')
  })
})
