import { describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { Browser, claimsFor, providerEnv, signedIn } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }
const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }

async function server(env: Record<string, string> = signUp) {
  const stub = await StubIssuer.start()
  return { stub, app: await testApp({ now: new Date(), env: { ...providerEnv(stub), ...env } }) }
}

const stateOf = async (app: TestApp) => (await (await app.admin()).get('/api/admin/oidc-providers')).body.oidcProviders[0]

describe('a failed sign-in', () => {
  it('keeps the page to return to, wherever it fails', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const path = '/auth/oidc/acme?return_to=%2Fpackages%2Facme_ui%3Ftab%3Dx%23y'
    const login = (error: string) => `/login?redirect=%2Fpackages%2Facme_ui%3Ftab%3Dx%23y&error=${error}&provider=acme`
    const browser = new Browser(app)
    const state = (await browser.start(path)).searchParams.get('state') ?? ''
    expect(await browser.callback({ error: 'access_denied', state, iss: stub.issuer })).toBe(login('access_denied'))
    const late = await browser.start(path)
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 601_000)
    expect(await browser.finish(stub, late, alice)).toBe(login('expired'))
    expect(await browser.finish(stub, late, alice)).toBe('/login?error=expired&provider=acme')
    stub.behaviour.status = 503
    expect(String((await browser.get(path)).headers.location)).toBe(`http://localhost:8080${login('provider_failed')}`)
    stub.behaviour.status = undefined
    expect(await browser.signIn(stub, alice, path)).toBe('/packages/acme_ui?tab=x#y')
  })

  it.each(['https://evil.example', '//evil.example', '/\\evil.example'])('never keeps a page of another site: %j', async (to) => {
    const { stub, app } = await server({})
    await using _app = app
    await using _stub = stub
    const path = `/auth/oidc/acme?return_to=${encodeURIComponent(to)}`
    expect(await new Browser(app).signIn(stub, alice, path)).toBe('/login?error=not_linked&provider=acme')
    stub.behaviour.status = 503
    expect(String((await new Browser(app).get(path)).headers.location)).toBe(
      'http://localhost:8080/login?error=provider_failed&provider=acme',
    )
  })

  it('returns to its page when a link to an identity took too long', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = await signedIn(app)
    const { redirectUrl } = await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 601_000)
    expect(await browser.finish(stub, new URL(redirectUrl), alice)).toBe('/settings/security?error=expired&provider=acme')
    expect((await browser.actor.graphql('{ viewer { linkedIdentities { id } } }')).body.data.viewer.linkedIdentities).toEqual([])
  })
})

describe('the state of a provider', () => {
  it('is not changed by a code that was used or has expired, which the log explains', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    stub.behaviour.tokenError = 'invalid_grant'
    expect(await new Browser(app).signIn(stub, alice)).toBe('/login?error=expired&provider=acme')
    expect(await stateOf(app)).toMatchObject({ lastError: null, lastErrorAt: null })
    expect(app.lines.join('\n')).toContain('Sign-in provider acme: The provider answered invalid_grant: Rejected.')
    stub.behaviour.tokenError = 'invalid_client'
    expect(await new Browser(app).signIn(stub, alice)).toBe('/login?error=provider_failed&provider=acme')
    expect((await stateOf(app)).lastError).toBe('The provider answered invalid_client: Rejected.')
    stub.behaviour.tokenError = 'odd\0\ud800\n'.padEnd(600, 'x')
    expect(await new Browser(app).signIn(stub, alice)).toBe('/login?error=provider_failed&provider=acme')
    expect((await stateOf(app)).lastError).toMatch(/^The provider answered odd \ufffd x{100,}$/)
  })

  it.each([
    ['another issuer', { iss: 'https://evil.example' }],
    ['an error', { error: 'server_error', error_description: 'Call this number' }],
    ['neither a code nor an error', { code: '' }],
    ['a token instead of a code', { response: 'x' }],
  ])('is not changed by a callback of a browser with %s', async (_what, changes) => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    const at = await browser.start()
    const state = at.searchParams.get('state') ?? ''
    const code = stub.code(claimsFor(stub, at, alice))
    expect(await browser.callback({ state, code, ...changes })).toMatch(/^\/login\?error=(invalid_response|provider_failed)&provider=acme$/)
    expect(await stateOf(app)).toMatchObject({ lastError: null, lastErrorAt: null })
    expect(stub.exchanges).toEqual([])
  })

  it('is not changed by a rejected logout token, but by keys that cannot be read', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const options = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const send = async (token: string) =>
      (await app.anonymous.post('/auth/oidc/acme/backchannel-logout', new URLSearchParams({ logout_token: token }).toString(), options))
        .status
    expect(await send('forged')).toBe(400)
    expect(await send(await stub.sign({ iss: 'https://evil.example' }))).toBe(400)
    const now = Math.floor(Date.now() / 1000)
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    expect(await send(await stub.sign({ iss: stub.issuer, aud: 'snug', iat: now, exp: now + 60, jti: '1', events, sub: 'a\0' }))).toBe(400)
    expect(await stateOf(app)).toMatchObject({ lastError: null, lastErrorAt: null })
    expect(app.lines.join('\n')).toContain('Back-channel logout of the sign-in provider acme: The logout token is not valid')
    stub.behaviour.metadata = { jwks_uri: undefined }
    expect(await send('forged')).toBe(503)
    expect((await stateOf(app)).lastError).toBe('The metadata of the provider has no jwks_uri.')
  })
})
